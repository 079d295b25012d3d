package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"svc/safetext"
)

// addTemplate adds --template, with which the user chooses the fields to print.
func (a *app) addTemplate(cmd *cobra.Command) {
	cmd.Flags().Func("template", "print this `TEXT` for each record, with {{.name}} for a field of its JSON, as in '{{.id}} {{.status}}'", func(text string) error {
		t, err := template.New("--template").Option("missingkey=error").Funcs(template.FuncMap{"join": joinAny, "json": asJSON}).Parse(text)
		if err != nil {
			return err
		}
		a.output, a.template = "template", t
		return nil
	})
}

// joinAny is the template function join: it joins the elements of a JSON list.
func joinAny(list []any, between string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, between)
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// printTemplate prints a record with the template. The template's fields are the fields of the record's JSON.
func (a *app) printTemplate(record any) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // so that large integers, such as a seq, stay exact
	var fields any
	if err := d.Decode(&fields); err != nil {
		return err
	}
	var b strings.Builder
	if err := a.template.Execute(&b, fields); err != nil {
		return usage("--json shows the existing fields", "the template does not fit: %s", err)
	}
	a.out.printf("%s\n", safetext.Lines(b.String()))
	return a.out.failed
}
