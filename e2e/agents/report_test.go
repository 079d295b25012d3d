package agents

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// results is what was seen, by tool and case.
type results map[string]map[string]string

func (r results) keep(tool, name, seen string) {
	if r[tool] == nil {
		r[tool] = map[string]string{}
	}
	r[tool][name] = seen
}

// table is the results in Markdown: a row for each tool, a column for each case.
func (r results) table(all []pin) string {
	var b strings.Builder
	b.WriteString("| tool |")
	for _, c := range cases {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(cases)) + "|\n")
	for _, p := range all {
		if r[p.tool] == nil {
			continue // a run of some tools only
		}
		fmt.Fprintf(&b, "| %s %s |", p.tool, p.version)
		for _, c := range cases {
			b.WriteString(" " + strings.ReplaceAll(r[p.tool][c.name], "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

const (
	guide       = "../../docs/providers.md"
	tableBegins = "<!-- make test-agents UPDATE=1 writes what follows -->\n"
	tableEnds   = "<!-- up to here -->\n"
)

// report prints the table and, with -update, writes it into the guide: only when every case of every
// tool was tried, and all of them as expected.
func report(t *testing.T, seen results) {
	t.Helper()
	all := pins(t)
	table := seen.table(all)
	fmt.Printf("\n%s\n", table)
	if !*update {
		return
	}
	if *capture != "" {
		t.Fatal("the guide is not updated: with -capture the hooks are not those of the presets")
	}
	for _, p := range all {
		if len(seen[p.tool]) != len(cases) {
			t.Fatalf("the guide is not updated: not every case of %s was tried", p.tool)
		}
	}
	if t.Failed() {
		t.Fatal("the guide is not updated: not all is as expected")
	}
	before, _, after := split(t)
	if err := os.WriteFile(guide, []byte(before+tableBegins+"\n"+table+"\n"+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// split takes the guide apart at its marks.
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
