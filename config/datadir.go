package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// dataDir returns the flag's value, SVC_DATA_DIR, or the platform's default. It makes the path absolute,
// because it is passed to processes with other working directories.
func (s Sources) dataDir() (string, error) {
	dir := s.DataDir
	if dir == "" {
		dir = s.env("SVC_DATA_DIR")
	}
	if dir == "" {
		var err error
		if dir, err = s.platformDir(); err != nil {
			return "", err
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("make the data directory %s absolute: %w", dir, err)
	}
	return abs, nil
}

func (s Sources) platformDir() (string, error) {
	goos := s.GOOS
	if goos == "" {
		goos = runtime.GOOS
	}
	// The XDG specification requires that a relative path is ignored.
	if xdg := s.env("XDG_DATA_HOME"); goos != "darwin" && filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "svc"), nil
	}
	home := s.env("HOME")
	if home == "" {
		return "", errors.New("no data directory: neither SVC_DATA_DIR nor HOME is set")
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "svc"), nil
	}
	return filepath.Join(home, ".local", "share", "svc"), nil
}

// EnsureDataDir makes the directory and its missing parents, accessible to the owner only (0700). If other
// users can read an existing directory, that is changed and the warning reports it; an empty string means no
// warning. If other users can write to it, or if it belongs to another user, the result is an error: its files
// may be another user's.
func EnsureDataDir(dir string) (warning string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", dirError(dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if err := writable(dir); err != nil {
		return "", dirError(dir, err)
	}
	return private(dir, info)
}

// private makes the directory inaccessible to other users.
func private(dir string, info fs.FileInfo) (warning string, err error) {
	perm := info.Mode().Perm()
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && int(owner.Uid) != os.Geteuid() && os.Geteuid() != 0:
		return "", fmt.Errorf("data directory %s belongs to another user; SVC_DATA_DIR chooses another", dir)
	case perm&0o022 != 0:
		return "", fmt.Errorf("data directory %s is open to other users (mode %04o), who may have put files there; look at them, then: chmod 700 %s", dir, perm, dir)
	case perm&0o077 == 0:
		return "", nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("data directory %s is open to other users (mode %04o) and cannot be closed: %w", dir, perm, err)
	}
	return fmt.Sprintf("data directory %s was open to other users (mode %04o) and is now 0700", dir, perm), nil
}

// writable tests whether files can be made in the directory. Otherwise a process would fail later, after a part
// of its start.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func dirError(dir string, err error) error {
	var what string
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		what = "it, or a part of its path, is not a directory"
	case errors.Is(err, syscall.EROFS):
		what = "the file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		what = "this user may not write there"
	default:
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	return fmt.Errorf("data directory %s cannot be used: %s; SVC_DATA_DIR chooses another: %w", dir, what, err)
}
