package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"svc/atomicfile"
)

// The reserve is disk space that is allocated early, for the two records of the end: the exit record and the
// finished signal.
const (
	reserveExit     = "reserve.exit"
	reserveFinished = "reserve.finished"
	reserveSize     = 8 << 10
)

// reserve allocates the space that is missing. The files are filled and not sparse, because a hole needs a
// block later.
func (a Attempt) reserve() error {
	fill := bytes.Repeat([]byte("reserved\n"), reserveSize/9+1)[:reserveSize]
	for _, name := range []string{reserveExit, reserveFinished} {
		if _, err := os.Stat(a.File(name)); err == nil {
			continue
		}
		if err := replace(a.Path(), a.File(name), fill); err != nil {
			return err
		}
	}
	return nil
}

// replaceFrom writes path like any record. On a full disk it overwrites the reserve, whose blocks exist
// already, and renames that. If this too needs new blocks (on a copy-on-write disk), it removes the reserve and
// tries once more.
func (a Attempt) replaceFrom(reserve, path string, data []byte) error {
	err := replace(filepath.Dir(path), path, data)
	if err == nil || !full(err) {
		if err == nil {
			_ = os.Remove(a.File(reserve)) // not needed any more
		}
		return err
	}
	if over := overwrite(a.File(reserve), path, data); over == nil {
		return nil
	}
	if gone := os.Remove(a.File(reserve)); gone != nil {
		return err
	}
	return replace(filepath.Dir(path), path, data)
}

func overwrite(from, to string, data []byte) error {
	f, err := OpenOwn(from, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(to))
}

func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
