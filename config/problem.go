package config

import (
	"fmt"
	"strings"
)

// Place is the kind of source that a value came from.
type Place string

// The places of a value, the strongest first.
const (
	FromFlag    Place = "flag"
	FromFile    Place = "file"
	FromEnv     Place = "environment"
	FromDefault Place = "default"
)

// Origin is where a value came from.
type Origin struct {
	Place Place
	// Name is the flag with its dashes, the file's path or the variable; empty for a default.
	Name string
	// Line counts from 1 and is 0 outside a file.
	Line int
}

// String is the origin as messages name it.
func (o Origin) String() string {
	switch {
	case o.Place == FromDefault:
		return "the default"
	case o.Line > 0:
		return fmt.Sprintf("%s line %d", o.Name, o.Line)
	default:
		return o.Name
	}
}

// Problem is one thing that is wrong with what an operator set.
type Problem struct {
	// Setting is section and key with a dot, or the section alone; empty when the file as a
	// whole is at fault.
	Setting string
	// Value is the offending value as it may be shown; empty when it is a secret or when the
	// complaint is not about a value.
	Value     string
	Origin    Origin
	Complaint string
}

// Error is one line that names the origin, the setting and what to do.
func (p Problem) Error() string {
	var b strings.Builder
	inFile := p.Origin.Place == FromFile
	if inFile {
		b.WriteString(p.Origin.String() + ": ")
	}
	if p.Setting != "" {
		b.WriteString(p.Setting + ": ")
	}
	if p.Value != "" {
		b.WriteString(p.Value + " ")
	}
	if !inFile && p.Value != "" {
		b.WriteString("from " + p.Origin.String() + " ")
	}
	if !inFile && p.Value == "" {
		b.WriteString("the value from " + p.Origin.String() + " ")
	}
	b.WriteString(p.Complaint)
	return b.String()
}

// Problems is the error of Load when settings are wrong: all of them, at least one.
type Problems []Problem

// Error is the problem, or a list with one line for each.
func (ps Problems) Error() string {
	if len(ps) == 1 {
		return ps[0].Error()
	}
	lines := []string{fmt.Sprintf("%d settings are wrong:", len(ps))}
	for _, p := range ps {
		lines = append(lines, "  "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// orNil is the way out of functions that collect: a Problems without problems is no error.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
