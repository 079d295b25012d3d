package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	// stalledAfter is how long git may work on a folder before it is looked for pipes that it may wait for.
	stalledAfter = 2 * time.Second
	answerEvery  = 20 * time.Millisecond
	lookAgain    = 5 * time.Second
)

// readByGit are the files of a folder that git reads, wherever in it they are.
var readByGit = []string{".gitignore", ".gitattributes", ".gitmodules"}

// answerPipes keeps git from waiting for ever for what an agent has put where it reads a file: a pipe that nobody writes to. Such a
// pipe gets a writer that says nothing, so that git finds an empty file. Other pipes of the agent are its own.
func (h Host) answerPipes(ctx context.Context, r Record) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait := time.NewTimer(stalledAfter)
		defer wait.Stop()
		var pipes []string
		var looked time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
			}
			if looked.IsZero() || time.Since(looked) > lookAgain {
				pipes = h.pipes(ctx, r)
				looked = time.Now()
			}
			for _, path := range pipes {
				// Without a reader that waits it fails, and with one it does not block. A link is not followed.
				if fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0); err == nil {
					_ = syscall.Close(fd)
				}
			}
			wait.Reset(answerEvery)
		}
	}()
	return func() { cancel(); <-done }
}

// pipes lists the pipes of a workspace that git may take for files.
func (h Host) pipes(ctx context.Context, r Record) (found []string) {
	_, common := h.gitDirs(r)
	for _, place := range []struct {
		dir  string
		mine bool // every file in it is git's
	}{{r.Path, false}, {filepath.Join(common, "objects"), true}} {
		_ = filepath.WalkDir(place.dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return nil //nolint:nilerr // what cannot be looked at, git cannot read either
			case entry.IsDir() && entry.Name() == ".git" && !place.mine:
				return fs.SkipDir
			case entry.Type() == os.ModeNamedPipe && (place.mine || slices.Contains(readByGit, entry.Name())):
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}
