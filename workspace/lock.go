package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"svc/git"
)

// lock is an exclusive lock on a workspace's record or on a mirror. The git processes that are started under it
// inherit the lock's file. If the holder is killed, the lock is released when those have ended too.
type lock struct {
	file *os.File
	// interrupted is true if the previous holder, or one of its git processes, was killed or failed before it had
	// finished.
	interrupted bool
}

// lockRetry is the pause between two attempts to acquire a lock.
const lockRetry = 20 * time.Millisecond

// hold acquires the lock at path and creates the file if needed. The error is ErrInUse if the context ends first.
func hold(ctx context.Context, path string) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("acquire lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("acquire lock: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("acquire lock: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%s: %w: %w", filepath.Base(path), ErrInUse, ctx.Err()), f.Close())
		case <-time.After(lockRetry):
		}
	}
	l := &lock{file: f}
	// The file has one byte while the lock is held.
	if info, err := f.Stat(); err == nil {
		l.interrupted = info.Size() > 0
	}
	if _, err := f.WriteAt([]byte{'x'}, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("acquire lock: %w", err), f.Close())
	}
	return l, nil
}

// release releases the lock. After an error, which a killed git may have caused, the byte stays, and the next holder
// removes what was left behind.
func (l *lock) release(err error) {
	if err == nil {
		_ = l.file.Truncate(0) // if this fails, the next holder looks for leftovers and finds none
	}
	_ = l.file.Close()
}

// under returns the git program with the lock's file, which every git process inherits.
func (l *lock) under(p git.Program) git.Program {
	p.Hold = l.file
	return p
}
