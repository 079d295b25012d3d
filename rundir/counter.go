package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"svc"
)

// The counter numbers the signals of an attempt, which many short-lived processes report concurrently. Its file
// begins with a base of fixed width, and each number that is taken appends one byte: the number is the base
// plus the bytes after it. The kernel serializes appends, so each process gets its own number, larger than all
// earlier ones, without a lock and without a clock. A process that is killed or suspended in between leaves at
// most a gap.
const (
	counterName  = "counter"
	counterWidth = 20 // of the base, in decimal digits
)

// maxNumber is larger than every valid number: larger ones are not exact as JSON numbers. The session can write
// to the counter and the spool; a counter that leads beyond maxNumber is damaged.
const maxNumber = 1 << 53

// counterByte is appended for each number.
var counterByte = []byte{'.'}

// takeNumber takes the next number. The error is ErrNoSpace when the disk is full.
func (a Attempt) takeNumber() (int64, error) {
	f, base, err := a.openCounter()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Write(counterByte); err != nil {
		return 0, diskError("count signal", err)
	}
	// This is where the write ended; other processes may have appended since.
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, fmt.Errorf("count signal: %w", err)
	}
	return base + end - counterWidth, nil
}

// lastNumber returns a number after all that were taken, for the report of an end on a full disk. Another
// signal may take the same number: the report of an end needs a position, not a unique number.
func (a Attempt) lastNumber() int64 {
	f, base, err := a.openCounter()
	if err != nil {
		return a.safeBase()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return a.safeBase()
	}
	return base + info.Size() - counterWidth + 1
}

// openCounter opens the counter for appending and reads its base. A missing counter is made and a damaged one
// is replaced; the new counter starts after every number that may have been taken.
func (a Attempt) openCounter() (f *os.File, base int64, err error) {
	for range 10 { // another process may replace it at the same time
		f, err = OpenOwn(a.SessionFile(counterName), os.O_RDWR|os.O_APPEND)
		if errors.Is(err, ErrForeign) {
			_ = os.RemoveAll(a.SessionFile(counterName))
			continue
		}
		if errors.Is(err, os.ErrNotExist) {
			err = a.makeCounter(a.safeBase())
			if err == nil || errors.Is(err, os.ErrExist) {
				continue
			}
		}
		if err != nil {
			return nil, 0, diskError("open counter", err)
		}
		head := make([]byte, counterWidth)
		if _, err = f.ReadAt(head, 0); err == nil {
			base, err = strconv.ParseInt(string(head), 10, 64)
		}
		damaged, statErr := f.Stat()
		if err == nil && statErr == nil && base >= 0 && base < maxNumber && damaged.Size() < maxNumber-base {
			return f, base, nil
		}
		_ = f.Close()
		now, err := os.Stat(a.SessionFile(counterName))
		if statErr == nil && err == nil && os.SameFile(damaged, now) { // otherwise it was replaced meanwhile
			_ = os.Remove(a.SessionFile(counterName))
		}
	}
	return nil, 0, errors.New("open counter: it is damaged and cannot be replaced")
}

// makeCounter makes the file atomically; os.ErrExist means that one exists.
func (a Attempt) makeCounter(base int64) error {
	// A late report makes the folder of a removed attempt again.
	if err := os.MkdirAll(a.SessionPath(), 0o700); err != nil {
		return err
	}
	f, err := unfinished(a.SessionPath())
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(os.Remove(f.Name()), f.Close()) }()
	if _, err := fmt.Fprintf(f, "%0*d", counterWidth, base); err != nil {
		return err
	}
	return os.Link(f.Name(), a.SessionFile(counterName))
}

// safeBase returns a base for a counter that was lost: the clock in microseconds, which no counter reaches and
// which is still exact as a JSON number; or the highest number in the spools, in case the clock was set back.
func (a Attempt) safeBase() int64 {
	base := time.Now().UnixMicro()
	files, _ := readDir(a.Dir.spool()) // without it the clock has to be enough
	own, _ := readDir(a.SpoolPath())
	for _, f := range append(files, own...) {
		rest, ours := strings.CutPrefix(f.Name(), a.spoolPrefix())
		digits, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.ParseInt(digits, 10, 64); ours && err == nil && n < maxNumber/2 {
			base = max(base, n)
		}
	}
	return base
}

// orderPatience is how long a signal waits for another one that is being written. The holder of the lock only
// writes a small file, unless it is suspended.
const orderPatience = 2 * time.Second

// holdOrder makes the signals of an attempt appear in the order of their numbers, except after orderPatience: a
// process that was suspended must not block the others, whose numbers are correct anyway. The lock is on the
// session's folder; release unlocks it.
func (a Attempt) holdOrder() (release func()) {
	f, err := openDir(a.SessionPath())
	if err != nil {
		return func() {}
	}
	_ = lockWithin(f, orderPatience)
	return func() { _ = f.Close() }
}

// spoolPrefix returns the prefix of the attempt's file names in a spool.
func (a Attempt) spoolPrefix() string { return fmt.Sprintf("%s.%d.", a.RunID, a.Number) }

// spoolName returns the path of a signal in a spool.
func (a Attempt) spoolName(spool string, number int64, kind svc.SignalKind) string {
	return filepath.Join(spool, fmt.Sprintf("%s%020d.%s", a.spoolPrefix(), number, kind))
}

// lockWithin tries to lock a file until the time is over; the error is then EWOULDBLOCK.
func lockWithin(f *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := lockFile(f, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			return err
		}
	}
}

// lockFile locks like flock(2), and repeats the call after EINTR.
func lockFile(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
