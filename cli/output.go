package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"svc"
)

// view says how the records of a noun are shown.
type view[T any] struct {
	columns []column[T]
	name    func(T) string  // its shortest name, for -o name
	fields  func(T) []field // everything about one record
	empty   string          // said instead of an empty table
}

// column is one column of a table.
type column[T any] struct {
	head string
	cell func(T) string
	tone func(T) tone // nil: plain
	flex bool         // gives way when the window is narrow
}

// field is one line about a record. An empty text is left out.
type field struct{ label, text string }

// tone is a colour by its meaning.
type tone int

const (
	plain tone = iota
	good
	warn
	bad
	dim
)

// printList answers with records in the form that was asked for.
func printList[T any](a *app, v view[T], items []T) error {
	switch a.output {
	case "json":
		if items == nil {
			items = []T{}
		}
		return a.printJSON(items)
	case "jsonl":
		return printLines(a.out, items)
	case "name":
		for _, item := range items {
			fmt.Fprintln(a.out, v.name(item))
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

// printOne answers with one record, everything about it.
func printOne[T any](a *app, v view[T], item T) error {
	if a.output != "table" {
		return printMachine(a, v, item)
	}
	a.printFields(v.fields(item))
	return nil
}

// printDone answers with a record that was changed: a line for a person.
func printDone[T any](a *app, v view[T], item T, format string, args ...any) error {
	if a.output != "table" {
		return printMachine(a, v, item)
	}
	fmt.Fprintf(a.out, format+"\n", args...)
	return nil
}

func printMachine[T any](a *app, v view[T], item T) error {
	switch a.output {
	case "json":
		return a.printJSON(item)
	case "jsonl":
		return printLines(a.out, []T{item})
	default:
		fmt.Fprintln(a.out, v.name(item))
		return nil
	}
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printLines[T any](w io.Writer, items []T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, item := range items {
		if err := e.Encode(item); err != nil {
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
		text := strings.ReplaceAll(strings.TrimRight(f.text, "\n"), "\n", "\n"+strings.Repeat(" ", widest+2))
		fmt.Fprintf(a.out, "%s  %s\n", st.dim.Render(fmt.Sprintf("%-*s", widest, f.label)), text)
	}
}

// note tells a person something that is no part of the answer.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.err, format+"\n", args...)
}

// when is an instant: how long ago on a terminal, RFC 3339 elsewhere. None is
// empty.
func (a *app) when(t *svc.Time) string {
	switch {
	case t == nil:
		return ""
	case !a.human():
		return t.String()
	}
	return age(svc.TimeOf(a.now()).Sub(*t))
}

// whenExactly is both, for the page about one record.
func (a *app) whenExactly(t *svc.Time) string {
	if t == nil || !a.human() {
		return a.when(t)
	}
	return fmt.Sprintf("%s (%s)", t.Std().Local().Format("2006-01-02 15:04:05"), a.when(t))
}
