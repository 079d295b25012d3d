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

// lock is an exclusive right to a workspace's record or to a mirror. The git processes that are started under it inherit
// it: when the holder is killed, the next one waits until they have ended too.
type lock struct {
	file *os.File
	// cut tells that the holder before, or a git of it, was killed in the middle of something.
	cut bool
}

// lockRetry is how often a lock that is held is asked for again.
const lockRetry = 20 * time.Millisecond

// hold acquires the lock at path, which is created. The error is ErrInUse when the context ends before.
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
	// One byte stands in the file while somebody is at work.
	if info, err := f.Stat(); err == nil {
		l.cut = info.Size() > 0
	}
	if _, err := f.WriteAt([]byte{'x'}, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("acquire lock: %w", err), f.Close())
	}
	return l, nil
}

// release gives the lock back. After an error, which may have come with a git that was killed, the mark stays and the next
// holder looks for what was left behind.
func (l *lock) release(err error) {
	if err == nil {
		_ = l.file.Truncate(0) // else the next one looks, and finds nothing
	}
	_ = l.file.Close()
}

// under is git as it is executed while the lock is held.
func (l *lock) under(p git.Program) git.Program {
	p.Hold = l.file
	return p
}
