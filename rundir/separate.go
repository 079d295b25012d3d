package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"svc/atomicfile"
)

// movable are the folders of a worker, as Open makes them and SetAside does.
var movable = []string{"runs", "spool", "quarantine"}

// Separate gives a worker a folder of its own below the data directory that it shared with an orchestrator
// so far, and answers it. What it had there is moved, nothing is copied and nothing lost: where sessions of
// before still run, links are left behind, since they were told the former paths; the links go at a start
// that finds no attempt left. It may be called again, also after it was interrupted anywhere. The caller
// holds the worker lock of the data directory.
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

// moveFolder puts the folder at to, and a link to it at from, in one step: a session of before finds its
// folder at any moment. The link is made first, in the place where the folder goes.
func moveFolder(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil // never there, or moved already
	}
	if err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(from), to)
	if err != nil {
		return err
	}
	if there, err := os.Lstat(to); err == nil && there.IsDir() {
		return fmt.Errorf("both %s and %s are there; merge them by hand", from, to)
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
			_ = os.Remove(path) // it does no harm
		}
	}
}
