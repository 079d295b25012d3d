package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrForeign says that something else is in the place of a file of ours: a link, a pipe, a device.
var ErrForeign = errors.New("not a regular file")

// OpenOwn opens a file in a place that a session can write to. It follows no link in its last part, never
// waits for a peer, and answers nothing but regular files: else the error is ErrForeign.
func OpenOwn(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
	return regular(f, path, err)
}

// regular is a file that was just opened so, if it is a file.
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

// openDir opens a folder that a session can write to; what is no folder, or a link, is ErrForeign.
func openDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = fmt.Errorf("open %s: %w: %w", path, ErrForeign, err)
	}
	return f, err
}

// inFolder does something with a file of such a folder, by the folder's descriptor: a session that replaces the
// folder by a link meanwhile leads nobody elsewhere. The error is ErrForeign when it has done so before.
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

// openIn is OpenOwn for a file of a folder that a session can replace.
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

// removeIn removes a file of such a folder.
func removeIn(path string) error {
	return inFolder(path, func(folder int, name string) error { return unix.Unlinkat(folder, name, 0) })
}

// moveIn moves a file of such a folder to a place of ours.
func moveIn(path, to string) error {
	return inFolder(path, func(folder int, name string) error { return unix.Renameat(folder, name, unix.AT_FDCWD, to) })
}

// moveWithin moves a file of such a folder into a folder below it, which is made.
func moveWithin(path, below string) error {
	return inFolder(path, func(folder int, name string) error {
		if err := unix.Mkdirat(folder, below, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		to, err := unix.Openat(folder, below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(to) }() // only named
		return unix.Renameat(folder, name, to, name)
	})
}

// readDir lists such a folder. One that is missing, or is not a folder, has nothing in it.
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
