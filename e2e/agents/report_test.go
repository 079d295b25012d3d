package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// results are the results by tool and case.
type results map[string]map[string]string

func (r results) keep(tool, name, seen string) {
	if r[tool] == nil {
		r[tool] = map[string]string{}
	}
	r[tool][name] = seen
}

// table returns the results as a Markdown table: a row for each tool, a column for each case.
func (r results) table(all []pin) string {
	var b strings.Builder
	b.WriteString("| tool |")
	for _, c := range cases {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(cases)) + "|\n")
	for _, p := range all {
		if r[p.tool] == nil {
			continue // only some tools were tested
		}
		fmt.Fprintf(&b, "| %s %s |", p.tool, p.version)
		for _, c := range cases {
			b.WriteString(" " + strings.ReplaceAll(r[p.tool][c.name], "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// notTried is the table's text for a case that was never tested with this version of the tool.
const notTried = "not tried"

// fill copies from an earlier table the results of the cases that were not tested now, if the tool's version is the
// same.
func (r results) fill(earlier string, all []pin) {
	rows := strings.Split(strings.TrimSpace(earlier), "\n")
	names := cells(rows[0])
	for _, p := range all {
		for _, c := range cases {
			if _, tried := r[p.tool][c.name]; !tried {
				r.keep(p.tool, c.name, notTried)
				if i := slices.Index(names, c.name); i > 0 {
					r.keep(p.tool, c.name, cellOf(rows, p, i))
				}
			}
		}
	}
}

// cellOf returns a cell in the row of a tool and version; notTried if there is none.
func cellOf(rows []string, p pin, column int) string {
	for _, row := range rows {
		if have := cells(row); have[0] == p.tool+" "+p.version && column < len(have) {
			return have[column]
		}
	}
	return notTried
}

// cells splits a row of the table into its cells.
func cells(row string) []string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |"), " | ")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, `\|`, "|")
	}
	return parts
}

const (
	guide       = "../../docs/providers.md"
	tableBegins = "<!-- make test-agents UPDATE=1 writes what follows -->\n"
	tableEnds   = "<!-- up to here -->\n"
)

// report prints the table. With -update it also writes the table into the guide, if all tested cases are as expected.
// The guide keeps the results of cases that were not tested.
func report(t *testing.T, seen results) {
	t.Helper()
	all := pins(t)
	fmt.Printf("\n%s\n", seen.table(all))
	if !*update {
		return
	}
	if *capture != "" {
		t.Fatal("the guide is not updated: with -capture the hooks are not those of the presets")
	}
	if t.Failed() {
		t.Fatal("the guide is not updated: a case failed")
	}
	before, earlier, after := split(t)
	seen.fill(earlier, all)
	if err := os.WriteFile(guide, []byte(before+tableBegins+"\n"+seen.table(all)+"\n"+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// split splits the guide into the table and the texts before and after it.
func split(t *testing.T) (before, table, after string) {
	t.Helper()
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	table, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table of results", guide)
	}
	return before, table, after
}
