package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// outputError means that the answer could not be written: the disk is full, or the reader has closed the pipe.
type outputError struct{ err error }

func (e *outputError) Error() string { return fmt.Sprintf("write the output: %v", e.err) }
func (e *outputError) Unwrap() error { return e.err }

// explain returns the problem as it is printed. It is about the output only: the command itself may have succeeded.
func (e *outputError) explain() problem {
	p := problem{what: "the output could not be written", why: e.err.Error(), exit: exitFailed, err: e}
	var number syscall.Errno
	if errors.As(e.err, &number) {
		p.why = number.Error()
	}
	if errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT) {
		p.next = "free space where the output goes, or write it elsewhere"
	}
	return p
}

// outputWriter marks the errors of writing, so that they can be told apart from errors of reading.
type outputWriter struct{ to io.Writer }

func (w outputWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}
