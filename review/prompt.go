package review

import (
	"fmt"
	"strings"
	"unicode"
)

// Remark is a review comment as it is sent to an agent.
type Remark struct {
	ID       string
	Path     string // in the form for display
	Old      bool   // line numbers refer to the file before the change
	First    int    // 0: the whole file
	Last     int
	Quote    string
	Body     string
	Revision int // number of the checkpoint that the comment is about
}

// Prompt composes the text that is sent to an agent: the message, then each remark with its number, file, lines,
// quote and text, and the command that reports the remark as handled. The same input always produces the same bytes.
func Prompt(message string, remarks []Remark) string {
	var b strings.Builder
	if message = clean(message); message != "" {
		b.WriteString(message + "\n")
	}
	if len(remarks) == 0 {
		return b.String()
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("Review comments on your changes:\n")
	for i, r := range remarks {
		fmt.Fprintf(&b, "\n%d. %s (checkpoint %d)\n", i+1, r.place(), r.Revision)
		if r.First > 0 {
			indent(&b, "   > ", strings.Trim(harmless(r.Quote), "\n"))
		}
		indent(&b, "   ", clean(r.Body))
		fmt.Fprintf(&b, "   When done: svc exec comment handled %s --note \"what you did\"\n", r.ID)
	}
	return b.String()
}

// place returns a remark's file and lines in words.
func (r Remark) place() string {
	of := ""
	if r.Old {
		of = " of the old version"
	}
	switch {
	case r.First == 0:
		return r.Path
	case r.Last <= r.First:
		return fmt.Sprintf("%s, line %d%s", r.Path, r.First, of)
	default:
		return fmt.Sprintf("%s, lines %d to %d%s", r.Path, r.First, r.Last, of)
	}
}

func indent(b *strings.Builder, by, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(by+line, " ") + "\n")
	}
}

// harmless replaces control characters that a terminal would interpret: the prompt may be pasted into one.
func harmless(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func clean(text string) string { return strings.TrimSpace(harmless(text)) }
