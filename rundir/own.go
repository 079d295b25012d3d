package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrForeign means that something else is in the place of one of svc's files: a link, a pipe, a device.
var ErrForeign = errors.New("not a regular file")

// OpenOwn opens a file in a place that a session can write to. It does not follow a link at the end of the
// path, does not block, and opens only regular files: for anything else the error is ErrForeign.
func OpenOwn(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
	return regular(f, path, err)
}

// regular returns a file that was just opened by OpenOwn or openIn, if it is a regular one.
func regular(f *os.File, path string, err error) (*os.File, error) {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EMLINK):
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrForeign, err)
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("open %s: %w", path, ErrForeign)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openDir opens a folder that a session can write to. The error is ErrForeign if it is a link or not a folder.
func openDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = fmt.Errorf("open %s: %w: %w", path, ErrForeign, err)
	}
	return f, err
}

// inFolder calls do for a file in a folder that a session can write to. It passes the folder's descriptor, so
// that a session that replaces the folder by a link meanwhile cannot redirect the operation. If the folder was
// replaced before, the error is ErrForeign.
func inFolder(path string, do func(folder int, name string) error) error {
	d, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := do(int(d.Fd()), filepath.Base(path)); err != nil {
		return &os.PathError{Op: "use", Path: path, Err: err}
	}
	return nil
}

// openIn is OpenOwn for a file in a folder that a session can replace.
func openIn(path string) (f *os.File, err error) {
	err = inFolder(path, func(folder int, name string) error {
		fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err == nil {
			f = os.NewFile(uintptr(fd), path)
		}
		return err
	})
	return regular(f, path, err)
}

// removeIn removes a file in a folder that a session can replace.
func removeIn(path string) error {
	return inFolder(path, func(folder int, name string) error { return unix.Unlinkat(folder, name, 0) })
}

// moveIn moves a file from a folder that a session can replace to a path that it cannot.
func moveIn(path, to string) error {
	return inFolder(path, func(folder int, name string) error { return unix.Renameat(folder, name, unix.AT_FDCWD, to) })
}

// moveWithin moves a file in a folder that a session can replace into a subfolder of that folder, which it
// makes.
func moveWithin(path, below string) error {
	return inFolder(path, func(folder int, name string) error {
		if err := unix.Mkdirat(folder, below, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		to, err := unix.Openat(folder, below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(to) }() // the descriptor only served as a name
		return unix.Renameat(folder, name, to, name)
	})
}

// readDir lists a folder that a session can replace. A folder that is missing or is not a folder has no
// entries.
func readDir(path string) ([]os.DirEntry, error) {
	d, err := openDir(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrForeign) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}
