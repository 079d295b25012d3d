package provider

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxFileBytes bounds what is read as a catalog; a real one has a few kilobytes.
const maxFileBytes = 1 << 20

// readFile reads a catalog whole. What is no regular file is refused before it is opened: opening a
// pipe would wait for a writer.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read provider catalog: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read provider catalog: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read provider catalog: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read provider catalog %s: %w", path, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read provider catalog: %s has more than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// create makes a file with this content unless something is there already. Of several processes that
// try, one succeeds, and none ever sees half a file.
func create(path string, data []byte, mode fs.FileMode) (made bool, err error) {
	temp, err := writeBeside(path, data, mode)
	if err != nil {
		return false, err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, syncDir(filepath.Dir(path))
}

// replace puts this content into a file in one step.
func replace(path string, data []byte, mode fs.FileMode) error {
	temp, err := writeBeside(path, data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// writeBeside writes a new file into the directory of path, safely on disk.
func writeBeside(path string, data []byte, mode fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// locked runs change while no other process that asks the same holds the directory.
func locked(dir string, change func() error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // ends the lock too
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	return change()
}
