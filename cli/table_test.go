package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"svc/config"
)

func TestAgeIsOneUnit(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m", 59 * time.Minute: "59m", 47 * time.Hour: "47h",
		48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d", -3 * time.Minute: "in 3m",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%s) = %q, want %q", d, got, want)
		}
	}
}

type row struct{ name, text string }

var rowColumns = []column[row]{
	{head: "NAME", cell: func(r row) string { return r.name }},
	{head: "TEXT", cell: func(r row) string { return r.text }, flex: true, tone: func(row) tone { return bad }},
	{head: "END", cell: func(row) string { return "x" }},
}

func TestTableForProgramsIsAlignedWholeAndPlain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: newStream(&out), src: config.Sources{Env: func(string) string { return "" }}, color: "auto"}
	long := strings.Repeat("long ", 100)
	printTable(a, rowColumns, []row{{"a", long}, {"日本", "two\nlines\x1b[31m"}})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), out.String())
	}
	if !strings.Contains(lines[1], long) || strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "…") {
		t.Errorf("the table is cut or coloured:\n%q", out.String())
	}
	if want := "日本  two lines␛[31m"; !strings.HasPrefix(lines[2], want) {
		t.Errorf("a wide or hostile cell is not aligned or not clean: %q, want the beginning %q", lines[2], want)
	}
}

func TestTableIsColouredWhenThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for color, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		var out bytes.Buffer
		a := &app{out: newStream(&out), src: config.Sources{Env: func(string) string { return "" }}, color: color}
		printTable(a, rowColumns, []row{{"a", "b"}})
		if got := strings.Contains(out.String(), "\x1b[31m"); got != want {
			t.Errorf("--color %s: coloured %v, want %v", color, got, want)
		}
	}
}

func TestShrinkTakesFromTheWidestFlexibleColumn(t *testing.T) {
	t.Parallel()
	columns := []column[row]{{}, {flex: true}, {flex: true}}
	widths := []int{10, 40, 20}
	shrink(widths, columns, 50)
	if widths[0] != 10 || widths[0]+widths[1]+widths[2]+2*columnGap != 50 || widths[1] < widths[2]-1 {
		t.Errorf("widths are %v", widths)
	}
	widths = []int{10, 40, 20}
	shrink(widths, columns, 12) // too narrow for all: each column keeps its least width
	if widths[1] != 8 || widths[2] != 8 {
		t.Errorf("widths are %v, want the rest of 8 each", widths)
	}
}
