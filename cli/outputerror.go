package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// outputError is an answer that could not be written: the disk is full, or nobody takes it any more.
type outputError struct{ err error }

func (e *outputError) Error() string { return fmt.Sprintf("write the output: %v", e.err) }
func (e *outputError) Unwrap() error { return e.err }

// explain is for a person: what became of the answer, not what was asked for it.
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

// outputWriter tells errors of the output from those of what is copied to it.
type outputWriter struct{ to io.Writer }

func (w outputWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}
