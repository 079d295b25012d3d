package mirror

import (
	"context"
	"io/fs"
	"time"
)

// mostOld bounds the files that are looked at in one comparison. The others are looked at when these are gone.
const mostOld = 100_000

// old are the files of the copy that were last written before a time.
func (s *pull) old(before time.Time) map[string]bool {
	found := map[string]bool{}
	_ = fs.WalkDir(s.root.FS(), ".", func(file string, e fs.DirEntry, err error) error { // a folder that cannot be read is read next time
		switch {
		case err != nil:
		case e.IsDir() && file != "." && !plain(e.Name()):
			return fs.SkipDir // of files that are being fetched
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

// expire removes those of the files that are gone for good. The leader has just listed all that it has, and none of them.
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
