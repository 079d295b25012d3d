package mirror

import (
	"context"
	"io/fs"
	"time"
)

// mostOld is the most files that one comparison considers for removal. Later comparisons consider the others.
const mostOld = 100_000

// old returns the files of the copy that were last written before a time.
func (s *pull) old(before time.Time) map[string]bool {
	found := map[string]bool{}
	_ = fs.WalkDir(s.root.FS(), ".", func(file string, e fs.DirEntry, err error) error { // an unreadable folder is tried again next time
		switch {
		case err != nil:
		case e.IsDir() && file != "." && !plain(e.Name()):
			return fs.SkipDir // the folder of files that are being fetched
		case len(found) >= mostOld:
			return fs.SkipAll
		case e.Type().IsRegular() && checkPath(file) == nil:
			if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
				found[file] = true
			}
		}
		return nil //nolint:nilerr // likewise
	})
	return found
}

// expire removes the files for which Gone returns true. They are files that the leader's complete listing, read just
// before, did not name.
func (s *pull) expire(ctx context.Context, files map[string]bool) {
	removed := 0
	for file := range files {
		if ctx.Err() != nil {
			break
		}
		if !s.Gone(ctx, file) {
			continue
		}
		if err := s.remove(file); err != nil {
			s.Log.Warn("a file that retention removed cannot be removed from the copy", "path", file, "error", err)
			continue
		}
		removed++
	}
	if removed > 0 {
		s.Log.Info("removed from the copy what retention removed while this orchestrator was away", "count", removed)
	}
}
