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
	// stalledAfter is how long git may work on a folder before the folder is searched for pipes that may block it.
	stalledAfter = 2 * time.Second
	unblockEvery = 20 * time.Millisecond
	searchEvery  = 5 * time.Second
)

// readByGit are the names of files that git reads in any folder of a working tree.
var readByGit = []string{".gitignore", ".gitattributes", ".gitmodules"}

// unblockPipes prevents git from waiting forever for a pipe without a writer that the agent has put in the place of a
// file that git reads. It opens such a pipe for writing and closes it at once, so that git reads an empty file. Other
// pipes of the agent are not opened.
func (h Host) unblockPipes(ctx context.Context, r Record) (stop func()) {
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
			if looked.IsZero() || time.Since(looked) > searchEvery {
				pipes = h.pipes(ctx, r)
				looked = time.Now()
			}
			for _, path := range pipes {
				// The open fails if no reader waits, and does not block if one does. Links are not followed.
				if fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0); err == nil {
					_ = syscall.Close(fd)
				}
			}
			wait.Reset(unblockEvery)
		}
	}()
	return func() { cancel(); <-done }
}

// pipes lists the named pipes of a workspace that git may open as files.
func (h Host) pipes(ctx context.Context, r Record) (found []string) {
	_, common := h.gitDirs(r)
	for _, place := range []struct {
		dir  string
		mine bool // git may read every file in it
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
