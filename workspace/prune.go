package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// PruneMirrors removes the mirrors that no workspace of this host needs and that were last used before the given
// time, and returns how many. With dry it only counts them. A preparation writes its record before it acquires the
// mirror's lock; under the lock, the records therefore show who needs the mirror. If a record cannot be read, no
// mirror is removed.
func (h Host) PruneMirrors(ctx context.Context, before time.Time, dry bool) (removed int, err error) {
	entries, err := os.ReadDir(h.mirrors())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("prune mirrors: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		gone, err := h.pruneMirror(ctx, entry.Name(), before, dry)
		if err != nil {
			return removed, fmt.Errorf("prune mirror %s: %w", entry.Name(), err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (h Host) pruneMirror(ctx context.Context, name string, before time.Time, dry bool) (gone bool, err error) {
	path := filepath.Join(h.mirrors(), name)
	// The lock's file is written at each use of the mirror.
	if used, err := os.Stat(path + ".lock"); err != nil || !used.ModTime().Before(before) {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // a folder that svc did not make
		}
		return false, err
	}
	if needed, err := h.needsMirror(name); needed || err != nil || dry {
		return !needed && err == nil, err
	}
	l, err := hold(ctx, path+".lock")
	if err != nil {
		return false, err
	}
	defer func() { l.release(err) }()
	if needed, err := h.needsMirror(name); needed || err != nil {
		return false, err
	}
	return true, removeTree(path)
}

// needsMirror reports whether a workspace, or the repository that worktrees share, reads the mirror's objects.
func (h Host) needsMirror(name string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(h.Dir, "work", "shared", name)); !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	records, err := h.Records()
	for _, r := range records {
		if mirrorName(r.Source.Repo) == name {
			return true, nil
		}
	}
	return false, err
}

// Size returns the number of bytes of a workspace's regular files; 0: unknown. Links are not followed.
func (h Host) Size(id string) (bytes int64) {
	root, err := os.OpenRoot(h.Path(id))
	if err != nil {
		return 0
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
