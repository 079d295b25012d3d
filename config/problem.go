package config

import (
	"fmt"
	"strings"
)

// Place is the type of source that a value came from.
type Place string

// The sources of a value, by descending precedence.
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
	// Line is the line number, from 1; 0 outside a file.
	Line int
}

// String returns the origin as it appears in messages.
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

// Problem is one error in an operator's settings.
type Problem struct {
	// Setting is section and key with a dot, or the section alone; empty when the problem is about the whole
	// file.
	Setting string
	// Value is the wrong value as it may be shown; empty for a secret, or when the complaint is not about a
	// value.
	Value     string
	Origin    Origin
	Complaint string
}

// Error returns one line that names the origin, the setting and what to do.
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

// Problems is the error of Load when settings are wrong. It has all of them, at least one.
type Problems []Problem

// Error returns the problem, or a list with one line for each.
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

// orNil returns ps as an error, or nil without problems. An empty Problems as an error would not be nil.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
