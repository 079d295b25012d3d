package wrapper

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// nameSearch searches for a name in folders that the agent can write to, so that their content cannot be
// trusted. It reads only names, opens only folders, follows no link below the fixed part of a pattern, and
// stops after a limited number of names.
type nameSearch struct {
	left  int                    // how many more names are read
	hides func(path string) bool // whether a path is hidden from the session, which must learn nothing about it
}

// maxNames is far more than the number of one person's conversations.
const maxNames = 1 << 18

var (
	errManyNames = errors.New("there are too many names to look through")
	errLink      = errors.New("links are not followed")
	errHidden    = errors.New("the path leads to a folder that the session cannot see")
)

// finds reports whether a name matches an absolute pattern, in which * is any part of a name. After an error
// the result is unknown.
func (s *nameSearch) finds(pattern string) (bool, error) {
	segments := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	fixed := 0
	for fixed < len(segments)-1 && !strings.Contains(segments[fixed], "*") {
		fixed++
	}
	root, err := filepath.EvalSymlinks("/" + filepath.Join(segments[:fixed]...)) // the user's home, or a folder in it, may be a link
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case s.hides(root):
		return false, errHidden
	}
	return s.below(unix.AT_FDCWD, root, segments[fixed:])
}

// below searches in the folder with this name, relative to the open folder at.
func (s *nameSearch) below(at int, name string, segments []string) (bool, error) {
	// Only folders are opened: opening a pipe would wait for its writer.
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return false, notFolder(at, name)
	case err != nil:
		return false, err
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	if !strings.Contains(segments[0], "*") {
		return s.matched(fd, segments[0], segments)
	}
	var unknown error // the error of one name; another name may still match
	for {
		names, err := folder.Readdirnames(1024)
		for _, name := range names {
			if s.left--; s.left < 0 {
				return false, errManyNames
			}
			if match, err := filepath.Match(segments[0], name); err != nil || !match {
				continue
			}
			found, err := s.matched(fd, name, segments)
			if found || errors.Is(err, errManyNames) {
				return found, err
			}
			if err != nil {
				unknown = err
			}
		}
		if errors.Is(err, io.EOF) {
			return false, unknown
		}
		if err != nil {
			return false, err
		}
	}
}

// matched continues the search below a name that matches the first segment. For the last segment it only checks
// that the name exists, with any type of file.
func (s *nameSearch) matched(fd int, name string, segments []string) (bool, error) {
	if len(segments) > 1 {
		return s.below(fd, name, segments[1:])
	}
	var stat unix.Stat_t
	err := unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// notFolder returns nil when nothing can be found below a name that is not a folder, and errLink for a link,
// which could lead to one.
func notFolder(at int, name string) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(at, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return errLink
	}
	return nil
}
