// Package atomicfile writes files atomically: after a crash or a power cut, and for every reader, a file has the old
// content or the new content, never a part of it. DiskFree returns the free space of a disk.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replace writes data to the file at path. It replaces an existing file.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return Fill(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill is Replace for content that the function fill writes piece by piece.
func Fill(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	temp, err := writeTemp(path, mode, fill)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return SyncDir(filepath.Dir(path))
}

// Create creates a file with this content unless path exists already. It reports whether it created the file. If
// several processes call it at the same time, exactly one of them creates the file. When Create returns without an
// error, the file that is at path, its own or the earlier one, survives a power cut.
func Create(path string, data []byte, mode fs.FileMode) (made bool, err error) {
	temp, err := writeTemp(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return false, err
	}
	defer os.Remove(temp)
	err = os.Link(temp, path) // unlike a rename, it fails if path exists
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return err == nil, SyncDir(filepath.Dir(path))
}

// writeTemp writes and syncs a new file in the folder of path, and returns its name, which begins with a dot.
func writeTemp(path string, mode fs.FileMode, fill func(io.Writer) error) (name string, err error) {
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

// SyncDir syncs a folder, so that the names in it survive a power cut. It never blocks, even if dir was replaced by a
// named pipe.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
