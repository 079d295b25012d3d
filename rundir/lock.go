package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrWorkerRuns means that another worker uses this data directory.
var ErrWorkerRuns = errors.New("another worker runs on this data directory")

// WorkerLock is the lock that a running worker holds. The kernel releases it when the process ends, in whatever
// way.
type WorkerLock struct{ file *os.File }

// HoldWorkerLock takes the lock; the error is ErrWorkerRuns when another process has it. It retries for a
// moment first, because each call of WorkerAlive holds the lock for an instant.
func (d Dir) HoldWorkerLock() (*WorkerLock, error) {
	f, err := d.lockHandle(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return nil, diskError("hold worker lock", err)
	}
	err = lockWithin(f, time.Second)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrWorkerRuns
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold worker lock: %w", err), f.Close())
	}
	return &WorkerLock{f}, nil
}

// Release releases the lock. The file stays.
func (l *WorkerLock) Release() error { return l.file.Close() }

// WorkerAlive reports whether a worker holds the lock. It returns false if that cannot be found out.
func (d Dir) WorkerAlive() bool {
	f, err := d.lockHandle(os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(lockFile(f, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func (d Dir) lockHandle(flags int) (*os.File, error) {
	return os.OpenFile(filepath.Join(string(d), "worker.lock"), flags, 0o600)
}
