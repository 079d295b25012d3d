// Package atomicfile writes files in one step: a reader, a crash and a power cut find the old content or the new one, never a part. It also says
// what room a disk has for them.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replace puts content into the file at path, whatever was there.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return Fill(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill is Replace with content that is written as it is made.
func Fill(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	temp, err := beside(path, mode, fill)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return SyncDir(filepath.Dir(path))
}

// Create makes a file with this content unless something is at path already. Of several processes that try, one makes it. The answer is
// safe on disk either way.
func Create(path string, data []byte, mode fs.FileMode) (made bool, err error) {
	temp, err := beside(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return false, err
	}
	defer os.Remove(temp)
	err = os.Link(temp, path) // unlike a rename, it fails when another process was first
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return err == nil, SyncDir(filepath.Dir(path))
}

// beside writes a new file into the folder of path, safely on disk. Its name begins with a dot.
func beside(path string, mode fs.FileMode, fill func(io.Writer) error) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	err = fill(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncDir makes the names in a folder survive a power cut. It waits for nothing that somebody may have put in the folder's place.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
