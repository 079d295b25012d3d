package provider

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFileBytes bounds the size of a catalog; a real one has a few kilobytes.
const maxFileBytes = 1 << 20

// readFile reads a whole catalog. It checks that the file is a regular one before it opens it, since opening a
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

// locked calls change while it holds a lock on the directory, so that only one process at a time changes a file
// there.
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
