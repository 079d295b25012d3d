package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Sink appends what it reads to the file at path until its input ends: it is
// the log's writer inside a session, a program of its own that outlives the
// worker. limit bounds the file, all attempts of a run together, in bytes; 0
// means no bound. At the bound the log says once that it stops, and the rest is
// read and dropped, so that the program in the session never waits for it.
func Sink(r io.Reader, path string, limit int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	err = sink(r, f, limit)
	return errors.Join(err, f.Close())
}

// gulp is how long the sink lets a log gather before it reads on: a program that
// writes fast costs one look for many of its lines, not one for each.
const gulp = 2 * time.Millisecond

func sink(r io.Reader, f *os.File, limit int64) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	size := info.Size()
	full := limit > 0 && size >= limit // an attempt before this one has said it
	buf := make([]byte, 256<<10)
	for ; ; time.Sleep(gulp) {
		n, readErr := r.Read(buf)
		// An interrupted or failed write must not stop the reading: a pipe that
		// nobody empties would stop the program in the session.
		if n > 0 && !full {
			part := buf[:n]
			if limit > 0 && size+int64(n) > limit {
				full = true
				part = append(part[:limit-size:limit-size], fullNotice(limit)...)
			}
			written, writeErr := f.Write(part)
			size += int64(written)
			if err == nil {
				err = writeErr // the first one tells enough
			}
		}
		if readErr != nil {
			if errors.Is(readErr, io.EOF) {
				readErr = nil
			}
			return errors.Join(err, readErr)
		}
	}
}

// fullNotice is the last line of a log that reached its bound.
func fullNotice(limit int64) string {
	return fmt.Sprintf("\r\n[svc: the log ends here at %d bytes, [worker] max_log_bytes; the run goes on]\r\n", limit)
}
