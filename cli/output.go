package cli

import (
	"fmt"
	"strings"

	"svc"
	"svc/safetext"
)

// view describes how the records of a noun are printed.
type view[T any] struct {
	columns []column[T]
	name    func(T) string  // its shortest name, for -o name
	fields  func(T) []field // everything about one record
	empty   string          // printed instead of an empty table
}

// column is one column of a table.
type column[T any] struct {
	head string
	cell func(T) string
	tone func(T) tone // nil: plain
	flex bool         // is shortened when the terminal is narrow
}

// viewOf makes a view of T from a view of a part of T.
func viewOf[T, U any](v view[U], part func(T) U) view[T] {
	out := view[T]{empty: v.empty, name: func(t T) string { return v.name(part(t)) }}
	for _, c := range v.columns {
		next := column[T]{head: c.head, flex: c.flex, cell: func(t T) string { return c.cell(part(t)) }}
		if c.tone != nil {
			next.tone = func(t T) tone { return c.tone(part(t)) }
		}
		out.columns = append(out.columns, next)
	}
	if v.fields != nil {
		out.fields = func(t T) []field { return v.fields(part(t)) }
	}
	return out
}

// field is one line about a record. A field with an empty text is not printed.
type field struct{ label, text string }

// tone is the meaning of a colour.
type tone int

const (
	plain tone = iota
	good
	warn
	bad
	dim
)

// printList prints records in the form of the --output flag.
func printList[T any](a *app, v view[T], items []T) error {
	switch a.output {
	case "json":
		if items == nil {
			items = []T{}
		}
		return a.printJSON(items)
	case "jsonl":
		return printLines(a, items)
	case "template":
		for _, item := range items {
			if err := a.printTemplate(item); err != nil {
				return err
			}
		}
		return nil
	case "name":
		for _, item := range items {
			a.out.println(v.name(item))
		}
		return nil
	}
	if len(items) == 0 {
		a.note("%s", v.empty)
		return nil
	}
	printTable(a, v.columns, items)
	return nil
}

// printOne prints everything about one record.
func printOne[T any](a *app, v view[T], item T) error {
	if a.output != "table" {
		return printMachine(a, v, item)
	}
	a.printFields(v.fields(item))
	return nil
}

// printDone prints a record that a command changed: for a person, one line.
func printDone[T any](a *app, v view[T], item T, format string, args ...any) error {
	if a.output != "table" {
		return printMachine(a, v, item)
	}
	a.out.printf(format+"\n", args...)
	return nil
}

func printMachine[T any](a *app, v view[T], item T) error {
	switch a.output {
	case "json":
		return a.printJSON(item)
	case "jsonl":
		return printLines(a, []T{item})
	case "template":
		return a.printTemplate(item)
	default:
		a.out.println(v.name(item))
		return nil
	}
}

func (a *app) printJSON(v any) error {
	return a.out.json(v, "  ")
}

func printLines[T any](a *app, items []T) error {
	for _, item := range items {
		if err := a.out.json(item, ""); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printFields(fields []field) {
	widest := 0
	for _, f := range fields {
		if f.text != "" {
			widest = max(widest, len(f.label))
		}
	}
	st := a.stylesFor(a.out)
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		a.out.printf("%s  %s\n", st.dim.Render(fmt.Sprintf("%-*s", widest, f.label)), indented(strings.TrimRight(f.text, "\n"), widest+2))
	}
}

// indented returns a text of several lines in which every line but the first is indented. So a text from elsewhere
// cannot imitate a line of svc.
func indented(text string, by int) safetext.Text {
	return safetext.Text(strings.ReplaceAll(string(safetext.Lines(text)), "\n", "\n"+strings.Repeat(" ", by)))
}

// note prints a message for the user that is no part of the answer.
func (a *app) note(format string, args ...any) {
	a.err.printf(format+"\n", args...)
}

// awayOnce prints that the orchestrator cannot be reached: once for each time that it goes away, not for each attempt
// to reach it. A nil error means that it is reachable again.
func (a *app) awayOnce(err error) {
	if err != nil && !a.away {
		a.note("the orchestrator is away; waiting for it")
	}
	a.away = err != nil
}

// when formats an instant: how long ago on a terminal, RFC 3339 elsewhere. It is empty for nil.
func (a *app) when(t *svc.Time) string {
	switch {
	case t == nil:
		return ""
	case !a.human():
		return t.String()
	}
	return age(svc.TimeOf(a.now()).Sub(*t))
}

// whenExactly formats an instant in both forms, for the page about one record.
func (a *app) whenExactly(t *svc.Time) string {
	if t == nil || !a.human() {
		return a.when(t)
	}
	return fmt.Sprintf("%s (%s)", t.Std().Local().Format("2006-01-02 15:04:05"), a.when(t))
}
