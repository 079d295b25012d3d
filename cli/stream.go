package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"svc/safetext"
)

// stream is standard output or standard error. It is not an io.Writer on purpose: the text comes from other machines,
// above all from agents, and may contain control sequences for the terminal. So every argument is printed on one
// line, with control characters made visible, unless it is a [safetext.Text] already.
type stream struct {
	to     io.Writer
	failed error // the first error of a write
}

func newStream(to io.Writer) *stream { return &stream{to: to} }

// printf prints with a format from our own code; the arguments may be from any source.
func (s *stream) printf(format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = visible(arg)
	}
	s.write(fmt.Sprintf(format, shown...))
}

// println prints its arguments with spaces between them, and a newline.
func (s *stream) println(args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = visible(arg)
	}
	s.write(fmt.Sprintln(shown...))
}

// json prints a value as JSON, in which control characters are escaped.
func (s *stream) json(v any, indent string) error {
	b, err := encode(v, indent)
	if err != nil {
		return err
	}
	s.write(string(safetext.JSON(b)))
	return s.failed
}

// raw returns the underlying writer, for bytes that must stay unchanged: our own escape sequences, and output that
// the user requested byte for byte.
func (s *stream) raw() io.Writer { return s.to }

// lines returns a writer for libraries, such as the one that prints help texts. It makes control characters visible
// and keeps newlines.
func (s *stream) lines() io.Writer { return visibleLines{s} }

// Fd returns the file descriptor of the stream, or the largest number when it has none.
func (s *stream) Fd() uintptr {
	if f, ok := s.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

func (s *stream) write(text string) {
	if _, err := io.WriteString(s.to, text); err != nil && s.failed == nil {
		s.failed = err
	}
}

type visibleLines struct{ s *stream }

func (v visibleLines) Write(b []byte) (int, error) {
	v.s.write(string(safetext.Lines(string(b))))
	return len(b), v.s.failed
}

// visible returns an argument in a form that is safe to print. Numbers stay as they are.
func visible(arg any) any {
	if text, ok := arg.(safetext.Text); ok {
		return string(text)
	}
	if kind := reflect.ValueOf(arg).Kind(); kind >= reflect.Bool && kind <= reflect.Float64 {
		return arg
	}
	return string(safetext.Line(fmt.Sprint(arg)))
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}
