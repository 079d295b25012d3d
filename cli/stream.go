package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"svc/safetext"
)

// stream is standard output or standard error. It is not a writer on purpose:
// what is printed comes from other machines, from agents above all, and may contain
// control sequences for the terminal. So every argument is printed on one line, with
// control characters made visible, unless it is a [safetext.Text] already.
type stream struct {
	to     io.Writer
	failed error // the first error of a write
}

func newStream(to io.Writer) *stream { return &stream{to: to} }

// printf prints with a format from our own code; the arguments may come from anywhere.
func (s *stream) printf(format string, args ...any) {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = visible(arg)
	}
	s.write(fmt.Sprintf(format, shown...))
}

// println prints its arguments with blanks between them, and a line end.
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

// raw is for bytes that must stay as they are: sequences of our own, and what was
// asked for byte for byte.
func (s *stream) raw() io.Writer { return s.to }

// lines is a writer for other people's code, such as that of help texts: what
// cannot be seen is made visible, line ends stay.
func (s *stream) lines() io.Writer { return visibleLines{s} }

// Fd is the file descriptor of the stream; without one it is the largest number.
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

// visible is an argument as it may be printed. Numbers are harmless.
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
