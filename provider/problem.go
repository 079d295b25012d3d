package provider

import (
	"fmt"
	"strings"
)

// Problem is one error in a catalog file. It never contains a value, because a person may have written a secret
// in the place of a name.
type Problem struct {
	File      string
	Line      int    // from 1; 0 when the problem is about the whole file
	Key       string // as TOML writes it, such as providers.my_tool.bin; may be empty
	Complaint string
}

// Error returns one line that names file, line and key.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, " line %d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Complaint)
	return b.String()
}

// Problems is the error of Parse. It has all problems, at least one, sorted by line.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
