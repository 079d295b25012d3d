package wrapper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"svc/rundir"
)

// Sink appends its input to the file at path until the input ends. It is the log's writer inside a session, a
// process that outlives the worker. limit bounds the file, with all attempts of a run together, in bytes; 0
// means no bound. At the bound it writes one notice into the log, and further input is read and dropped, so
// that the program in the session never waits for it. Output that cannot be written, on a full disk for
// example, is dropped too: meanwhile the file state has the cause for the worker, and as soon as writing works
// again the log gets a notice with the number of missing bytes. state may be empty; its disk space is reserved
// already (see rundir.ReserveSinkState). The file times records when the bytes were written; empty: they are
// not recorded.
func Sink(r io.Reader, path string, limit int64, state, times string) error {
	f, err := rundir.OpenOwn(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	s := &sinkLog{f: f, limit: limit}
	if state != "" {
		if s.state, err = rundir.OpenOwn(state, os.O_WRONLY); err == nil {
			defer func() { _ = s.state.Close() }()
		}
	}
	if s.times = rundir.OpenTimes(times); s.times != nil {
		defer s.times.Close()
	}
	return errors.Join(s.copy(r), f.Close())
}

// gatherPause is the pause before the sink reads again, so that output gathers: a program that writes fast costs one
// read for many of its lines, not one for each.
const gatherPause = 2 * time.Millisecond

// sinkLog is a log that is being written.
type sinkLog struct {
	f     io.Writer
	state *os.File      // nil: problems are not recorded
	times *rundir.Times // nil: times are not recorded
	limit int64         // 0: none
	size  int64
	full  bool  // the limit is reached, and the notice is written
	lost  int64 // bytes dropped since the last successful write
	cause error // why they were dropped
}

func (s *sinkLog) copy(r io.Reader) error {
	if f, ok := s.f.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("stat log: %w", err)
		}
		s.size = info.Size()
	}
	s.full = s.limit > 0 && s.size >= s.limit // an earlier attempt has written the notice
	buf := make([]byte, 256<<10)
	for ; ; time.Sleep(gatherPause) {
		n, err := r.Read(buf)
		// A failed write must not stop the reading: a full pipe would block the program in the session.
		if n > 0 && !s.full {
			s.take(buf[:n])
		}
		if err == nil {
			continue
		}
		if s.lost > 0 && s.write([]byte(lostNotice(s.lost, s.cause))) {
			s.found()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return errors.Join(s.cause, err)
	}
}

// take writes a part of the output, up to the limit.
func (s *sinkLog) take(part []byte) {
	if s.lost > 0 {
		if !s.write([]byte(lostNotice(s.lost, s.cause))) {
			s.lost += int64(len(part))
			return
		}
		s.found()
	}
	if s.limit > 0 && s.size+int64(len(part)) > s.limit {
		s.full = true
		part = append(part[:max(s.limit-s.size, 0):max(s.limit-s.size, 0)], fullNotice(s.limit)...)
	}
	before := s.size
	if !s.write(part) {
		s.lost = int64(len(part)) - (s.size - before)
	}
}

// write reports whether all of part was written. The first error of a gap is recorded in the state.
func (s *sinkLog) write(part []byte) bool {
	s.times.Note(s.size) // before the bytes, so that a reader of the bytes finds their time
	n, err := s.f.Write(part)
	s.size += int64(n)
	if err == nil {
		return true
	}
	if s.cause == nil {
		rundir.TellSinkState(s.state, rundir.CauseOf(err))
	}
	s.cause = err
	return false
}

// found ends a gap.
func (s *sinkLog) found() {
	s.lost, s.cause = 0, nil
	rundir.TellSinkState(s.state, "")
}

// lostNotice returns the notice for a place in the log where output is missing.
func lostNotice(lost int64, err error) string {
	return fmt.Sprintf("\r\n[svc: %d bytes of output are missing here: %s]\r\n", lost, rundir.CauseOf(err))
}

// fullNotice returns the last line of a log that has reached its limit.
func fullNotice(limit int64) string {
	return fmt.Sprintf("\r\n[svc: the log ends here at %d bytes, [worker] max_log_bytes; the run goes on]\r\n", limit)
}
