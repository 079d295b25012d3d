package rundir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// sinkStateSize is the size of the file in which a sink records a problem. The file is filled from the start
// and written in place, since a full disk has no room for more.
const sinkStateSize = 256

// ReserveSinkState makes the file in which a sink records a problem, with all its disk space.
func ReserveSinkState(path string) error {
	f, err := OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Repeat([]byte(" "), sinkStateSize))
	return errors.Join(err, f.Close())
}

// TellSinkState writes a problem into an open file of that kind; a nil file is ignored. An empty text means
// that there is no problem.
func TellSinkState(f *os.File, text string) {
	if f == nil {
		return
	}
	line := make([]byte, sinkStateSize)
	copy(line, bytes.Repeat([]byte(" "), sinkStateSize))
	copy(line, text)
	_, _ = f.WriteAt(line, 0) // an error could not be recorded anywhere else
}

// ReadSinkState returns the problem that a sink has recorded; empty: none.
func ReadSinkState(path string) string {
	f, err := OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, sinkStateSize))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// CauseOf returns the system's error text without the path before it.
func CauseOf(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}
