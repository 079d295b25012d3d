package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagProblem describes what is wrong with a flag's value, without the names of Go's functions.
func flagProblem(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	f, wanted := invalid.GetFlag(), map[string]string{"int": "a number", "int64": "a number", "float64": "a number", "bool": "true or false",
		"duration": "a time such as 30s or 2h"}[invalid.GetFlag().Value.Type()]
	if wanted == "" {
		return err.Error()
	}
	return fmt.Sprintf("--%s %q is not %s", f.Name, invalid.GetValue(), wanted)
}

// choice is the value of a flag that accepts a few fixed words.
type choice struct {
	value *string
	words []string
}

func newChoice(value *string, standard string, words ...string) *choice {
	*value = standard
	return &choice{value, words}
}

func (c *choice) String() string {
	if c.value == nil { // the flag package calls String on a zero value
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return "string" }

func (c *choice) Set(v string) error {
	if !slices.Contains(c.words, v) {
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	*c.value = v
	return nil
}

// pairs is the value of a flag NAME=VALUE that may be given several times.
type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Type() string { return "NAME=VALUE" }

func (p pairs) Set(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not of the form NAME=VALUE", v)
	}
	p[name] = value
	return nil
}
