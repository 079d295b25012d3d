package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"svc/wire"
)

// The times of an attempt's log are in a file beside it: a header line about the attempt, then one line for
// each LogTime. The log's writer appends to it, and so does the worker when the terminal is resized: two
// processes, each writing a line with one write. So both use the same host-wide clock, and a reader treats a
// line whose time goes back as if it had the time of the line before.

// timesEvery is the minimum interval between two times: at most 20 times a second are recorded. In a file that
// is half full the interval is timesLong.
const (
	timesEvery = 50 * time.Millisecond
	timesLong  = time.Second
)

// timesHead is the header line: the host's clock at the attempt's start in milliseconds, and the attempt's
// first byte in the log.
const timesHead = "svc times 1 %d %d\n"

// MostTimesLine is longer than any line.
const MostTimesLine = 128

// hostClock returns the host's monotonic clock, which cannot be set, in milliseconds. All processes of the host
// share it.
func hostClock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano() / int64(time.Millisecond)
}

// MakeTimes creates the times of an attempt whose bytes begin at base in its log, on a terminal of this size.
// An existing file is kept and continued.
func MakeTimes(path string, base int64, cols, rows int, now time.Time) error {
	return makeTimes(path, base, hostClock(), cols, rows, now)
}

func makeTimes(path string, base, clock int64, cols, rows int, now time.Time) error {
	f, err := OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	begin := wire.LogTime{Cols: cols, Rows: rows, At: now.UnixMilli()}
	_, err = f.Write(begin.AppendLine(fmt.Appendf(nil, timesHead, clock, base)))
	return errors.Join(err, f.Close())
}

// Times is an attempt's file of times, opened for writing. A nil Times records nothing.
type Times struct {
	f     *os.File
	clock func() int64
	base  int64 // the attempt's first byte in the log
	start int64 // the clock at the attempt's start
	size  int64 // the size of the file
	next  int64 // when the next time may be recorded
	torn  bool  // the last line has no end
}

// OpenTimes opens the times for writing. It returns nil when there are none: the session is of an earlier
// version, or the disk was full at its start.
func OpenTimes(path string) *Times {
	if path == "" {
		return nil
	}
	return openTimesBy(hostClock, path)
}

func openTimesBy(clock func() int64, path string) *Times {
	f, err := OpenOwn(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil
	}
	t := &Times{f: f, clock: clock}
	if err := t.read(); err != nil {
		t.Close()
		return nil
	}
	return t
}

// read reads the clock's start. Times never go back: after a restart of the host, which resets the clock, they
// continue from the last recorded time.
func (t *Times) read() error {
	head := make([]byte, MostTimesLine)
	n, err := t.f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := fmt.Sscanf(string(head[:n]), timesHead, &t.start, &t.base); err != nil {
		return err
	}
	info, err := t.f.Stat()
	if err != nil {
		return err
	}
	t.size = info.Size()
	tail := make([]byte, min(t.size, 2*MostTimesLine))
	if _, err := t.f.ReadAt(tail, t.size-int64(len(tail))); err != nil {
		return err
	}
	t.torn = tail[len(tail)-1] != '\n'
	lines := bytes.Split(tail, []byte("\n"))
	if len(lines) < 2 {
		return nil
	}
	if last, ok := wire.ParseLogTime(lines[len(lines)-2]); ok {
		t.start = min(t.start, t.clock()-last.Ms)
	}
	return nil
}

// Close closes the file.
func (t *Times) Close() { _ = t.f.Close() } // nothing is buffered

// Note records that the bytes of the log from this position on are written now, unless a time was recorded a
// moment ago.
func (t *Times) Note(at int64) {
	if t == nil {
		return
	}
	now := t.clock() - t.start
	if now < t.next {
		return
	}
	every := timesEvery
	if t.size > wire.MaxTimesFile/2 {
		every = timesLong
	}
	t.next = now + every.Milliseconds()
	t.append(wire.LogTime{Ms: now, Offset: at - t.base})
}

// append adds a line. If it cannot be written it is left out: the bytes then have the time of the bytes before.
func (t *Times) append(at wire.LogTime) {
	var line []byte
	if t.torn {
		line = append(line, '\n') // ends the partial line of a failed write
	}
	line = at.AppendLine(line)
	if at.Offset < 0 || t.size+int64(len(line)) > wire.MaxTimesFile {
		return
	}
	n, err := t.f.Write(line)
	t.size += int64(n)
	t.torn = err != nil && (n > 0 || t.torn)
}

// Resized records that the terminal gets this size now, when the log's length is at.
func (t *Times) Resized(cols, rows int, at int64) {
	t.append(wire.LogTime{Ms: t.clock() - t.start, Offset: at - t.base, Cols: cols, Rows: rows})
}
