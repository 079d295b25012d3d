package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"svc/atomicfile"
)

// movable are the folders of a worker that Open and SetAside make.
var movable = []string{"runs", "spool", "quarantine"}

// Separate moves a worker's files from a data directory that it shared with an orchestrator to a folder of its
// own below it, and returns that folder. It renames the folders and copies nothing, so nothing can be lost.
// Sessions that still run have the former paths, so links stay behind; a later start that finds no attempts
// removes them. It may be called again, also after an interruption at any point. The caller holds the worker
// lock of the data directory.
func Separate(dataDir, own string) (Dir, error) {
	if err := os.MkdirAll(own, 0o700); err != nil {
		return "", diskError("make the worker's folder", err)
	}
	for _, name := range movable {
		if err := moveFolder(filepath.Join(dataDir, name), filepath.Join(own, name)); err != nil {
			return "", diskError("move "+name+" to the worker's folder", err)
		}
	}
	for _, name := range []string{"instance_id"} {
		err := os.Rename(filepath.Join(dataDir, name), filepath.Join(own, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", diskError("move "+name+" to the worker's folder", err)
		}
	}
	attempts, err := Dir(own).Attempts()
	if err != nil {
		return "", err
	}
	if len(attempts) == 0 {
		removeLinks(dataDir)
	}
	return Dir(own), errors.Join(atomicfile.SyncDir(dataDir), atomicfile.SyncDir(own))
}

// moveFolder moves a folder from one path to the other and leaves a link, in one atomic step, so that a running
// session finds its folder at any moment. It first makes the link at the new path and then swaps the two names.
func moveFolder(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil // it never existed, or was moved already
	}
	if err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(from), to)
	if err != nil {
		return err
	}
	if there, err := os.Lstat(to); err == nil && there.IsDir() {
		return fmt.Errorf("both %s and %s exist; merge them by hand", from, to)
	}
	if err := os.Symlink(target, to); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return exchange(from, to)
}

func removeLinks(dataDir string) {
	for _, name := range movable {
		path := filepath.Join(dataDir, name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			_ = os.Remove(path) // a link that stays does no harm
		}
	}
}
