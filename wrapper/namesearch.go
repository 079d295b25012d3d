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

// nameSearch looks for a name in folders that an agent can write to, who may have put anything there. It reads names and nothing else, opens
// folders only, follows no link below the fixed part of a pattern, and ends after a bounded number of names.
type nameSearch struct {
	left  int                    // how many more names are read
	hides func(path string) bool // what the session does not see, and must not learn of
}

// maxNames is far more than the conversations of a person.
const maxNames = 1 << 18

var (
	errManyNames = errors.New("there are too many names to look through")
	errLink      = errors.New("a link is not followed")
	errHidden    = errors.New("the path leads to where the session does not see")
)

// finds reports whether some name matches an absolute pattern, in which * is any part of a name. An error means that this is not known.
func (s *nameSearch) finds(pattern string) (bool, error) {
	segments := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	fixed := 0
	for fixed < len(segments)-1 && !strings.Contains(segments[fixed], "*") {
		fixed++
	}
	root, err := filepath.EvalSymlinks("/" + filepath.Join(segments[:fixed]...)) // a home, and a folder in it, may be links of their user's
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

// below looks in the folder of a name, which is relative to an open one.
func (s *nameSearch) below(at int, name string, segments []string) (bool, error) {
	// What is not a folder is not opened: a pipe would wait for its writer.
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
	var unknown error // of a name; another one may decide
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

// matched goes on with a name that the first segment allows. At the last one it is enough that the name is there, whatever it is of.
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

// notFolder is nil for a name behind which nothing can be found. A link could lead to a folder.
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
