package provider

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a catalog file. It never shows a value, because someone
// may have written a secret where a name belongs.
type Problem struct {
	File      string
	Line      int    // from 1; 0 when the file as a whole is at fault
	Key       string // as TOML writes it, such as providers.my_tool.bin; may be empty
	Complaint string
}

// Error is one line that names file, line and key.
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

// Problems is the error of Parse: everything that is wrong, from the top of the file down, and at
// least one.
type Problems []Problem

// Error is the problem, or one line for each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
