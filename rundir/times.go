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

// The times of an attempt's log are a file beside it: a first line about the attempt, then a line for each LogTime.
// The log's writer appends to it, and the worker when the terminal gets another size: two processes, each line by one
// write. So they share a clock, that of the host, and a reader takes a line that goes back as of the moment before.

// timesEvery is how long what is written counts as written at once: at most 20 times a second are noted. In a file that
// is half full it is longer.
const (
	timesEvery = 50 * time.Millisecond
	timesLong  = time.Second
)

// timesHead is the first line: the host's clock at the attempt's start in milliseconds, and where in the log the attempt begins.
const timesHead = "svc times 1 %d %d\n"

// MostTimesLine is longer than any line.
const MostTimesLine = 128

// hostClock is the host's clock that nobody sets, in milliseconds. All processes of the host share it.
func hostClock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano() / int64(time.Millisecond)
}

// MakeTimes begins the times of an attempt whose bytes begin at base in its log, on a terminal of that size. Those that were begun before go on.
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

// Times is an attempt's file of times that is written to. Nil is one that is not there.
type Times struct {
	f     *os.File
	clock func() int64
	base  int64 // where in the log the attempt begins
	start int64 // of the clock
	size  int64 // of the file
	next  int64 // when the next time may be noted
	torn  bool  // the last line has no end
}

// OpenTimes opens the times for writing. It is nil when there are none: a session of an earlier version, or a full disk at
// its start.
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

// read finds the clock's start. Time never goes back: after a restart of the host, whose clock begins anew, it goes on
// from the last time.
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

// Close ends the writing.
func (t *Times) Close() { _ = t.f.Close() } // nothing is buffered

// Note notes that the bytes from here on in the log are written now, unless it was just noted.
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

// append adds a line. What cannot be written is left out: the bytes then count as written with those before.
func (t *Times) append(at wire.LogTime) {
	var line []byte
	if t.torn {
		line = append(line, '\n') // what a failed write left is a line of its own
	}
	line = at.AppendLine(line)
	if at.Offset < 0 || t.size+int64(len(line)) > wire.MaxTimesFile {
		return
	}
	n, err := t.f.Write(line)
	t.size += int64(n)
	t.torn = err != nil && (n > 0 || t.torn)
}

// Resized notes that the terminal gets a size now, when the log has so many bytes.
func (t *Times) Resized(cols, rows int, at int64) {
	t.append(wire.LogTime{Ms: t.clock() - t.start, Offset: at - t.base, Cols: cols, Rows: rows})
}
