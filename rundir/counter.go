package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// counter numbers the signals of an attempt. Many processes report at once (hooks are short-lived
// processes), so the file is locked while it is open. It keeps its width: writing the next number
// needs no new disk space.
type counter struct {
	file *os.File
	last int64
	// unlocked: the lock was not to be had. Numbers then come from the clock and are not written.
	unlocked bool
}

const counterWidth = 20

// lockPatience is how long a process waits for the others. One that holds the lock and was stopped
// by job control must not hold back the word about the end.
const lockPatience = 5 * time.Second

// openCounter waits for the lock and reads the last number. A damaged counter goes on from the clock
// in microseconds, which is beyond every number that was counted and still exact as a JSON number.
func (a Attempt) openCounter() (*counter, error) {
	f, err := os.OpenFile(a.File("counter"), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) { // a late report of an attempt that was cleared away
		if err := os.MkdirAll(a.Path(), 0o700); err != nil {
			return nil, diskError("open counter", err)
		}
		f, err = os.OpenFile(a.File("counter"), os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, diskError("open counter", err)
	}
	switch err := lockWithin(f, lockPatience); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return &counter{file: f, last: time.Now().UnixMicro(), unlocked: true}, nil
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock counter: %w", err), f.Close())
	}
	text, err := io.ReadAll(io.LimitReader(f, counterWidth+1))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read counter: %w", err), f.Close())
	}
	c := &counter{file: f}
	switch n, err := strconv.ParseInt(string(text), 10, 64); {
	case len(text) == 0:
		err := c.write(0)
		if err != nil {
			return nil, errors.Join(diskError("begin counter", err), f.Close())
		}
	case err != nil || len(text) != counterWidth || n < 0:
		c.last = time.Now().UnixMicro()
	default:
		c.last = n
	}
	return c, nil
}

// next takes a number. It need not be synced: after a power cut the session is gone too.
func (c *counter) next() (int64, error) {
	if c.unlocked {
		return c.last, nil
	}
	if err := c.write(c.last + 1); err != nil {
		return 0, diskError("count signal", err)
	}
	c.last++
	return c.last, nil
}

func (c *counter) write(n int64) error {
	_, err := c.file.WriteAt(fmt.Appendf(nil, "%0*d", counterWidth, n), 0)
	if err != nil {
		return err
	}
	return c.file.Truncate(counterWidth)
}

// close gives the lock back.
func (c *counter) close() error { return c.file.Close() }

// lockWithin tries until the time is over; the error is then EWOULDBLOCK.
func lockWithin(f *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := lockFile(f, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			return err
		}
	}
}

// lockFile locks like flock(2), and waits through interruptions.
func lockFile(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
