package svc

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problems collects the problems of an input by field, so that the caller gets all of them at once.
type Problems map[string]string

// Add records a problem of a field. Only the first problem of each field is kept.
func (p *Problems) Add(field, format string, args ...any) {
	if *p == nil {
		*p = Problems{}
	}
	if _, has := (*p)[field]; !has {
		(*p)[field] = fmt.Sprintf(format, args...)
	}
}

// Err returns nil without problems, else one validation Error whose details name every field.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	names := make([]string, 0, len(p))
	for f := range p {
		names = append(names, f)
	}
	sort.Strings(names)
	lines := make([]string, len(names))
	fields := make(map[string]any, len(names))
	for i, f := range names {
		lines[i] = f + ": " + p[f]
		fields[f] = p[f]
	}
	return &Error{Code: CodeValidation, Message: strings.Join(lines, "; "), Details: map[string]any{"fields": fields}}
}

// Invalid returns a validation Error about a single field.
func Invalid(field, format string, args ...any) error {
	var p Problems
	p.Add(field, format, args...)
	return p.Err()
}

// line checks a single-line string of min to max characters: no control characters, and not only white space when min
// is above 0.
func (p *Problems) line(field, s string, min, max int) {
	if !p.text(field, s, 0) {
		return
	}
	switch n := utf8.RuneCountInString(s); {
	case n < min && min == 1, min > 0 && strings.TrimSpace(s) == "":
		p.Add(field, "must not be empty")
	case n > max:
		p.Add(field, "has %d characters; at most %d are allowed", n, max)
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		p.Add(field, "must not contain control characters")
	}
}

// text checks free text: valid UTF-8 without NUL, at most maxBytes long (0: no
// limit of its own). It reports whether the text passed.
func (p *Problems) text(field, s string, maxBytes int) bool {
	switch {
	case !utf8.ValidString(s):
		p.Add(field, "is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		p.Add(field, "must not contain a NUL character")
	case maxBytes > 0 && len(s) > maxBytes:
		p.Add(field, "has %d bytes; at most %d are allowed", len(s), maxBytes)
	default:
		return true
	}
	return false
}

// oneOf checks that v is one of the allowed values.
func oneOf[T ~string](p *Problems, field string, v T, allowed ...T) {
	for _, a := range allowed {
		if v == a {
			return
		}
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	p.Add(field, "is %q; it must be one of %s", string(v), strings.Join(names, ", "))
}

// Cut shortens a text that was received from a peer to at most that many bytes, and appends a note about it. most
// must leave room for the note.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	note := fmt.Sprintf(" … (cut; it had %d bytes)", len(text))
	return strings.ToValidUTF8(text[:most-len(note)], "") + note
}
