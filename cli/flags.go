package cli

import (
	"fmt"
	"slices"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

func newChoice(value *string, standard string, words ...string) *choice {
	*value = standard
	return &choice{value, words}
}

func (c *choice) String() string {
	if c.value == nil { // the flag package asks a zero value
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

// pairs is a flag NAME=VALUE that may be given several times.
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
