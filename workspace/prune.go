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

// PruneMirrors removes mirrors that no workspace of this host needs and that were not used since a time, and answers how many; dry removes
// none. A preparation writes its record before it asks for the mirror's lock, so that under the lock the records say who needs it. Where
// they cannot all be read, everything stays.
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
	// The lock's file is written each time that the mirror is used.
	if used, err := os.Stat(path + ".lock"); err != nil || !used.ModTime().Before(before) {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // not one of ours
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

// needsMirror tells whether a workspace reads the mirror's objects, or the repository that worktrees share.
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

// Size is how many bytes the files of a workspace have; 0: that cannot be told. Links are not followed.
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
