package rundir

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// A permit is a launch file: the process that takes it starts the provider, and it can be taken only once. Each
// try to start an attempt has a permit of its own, launch-<try>. If a worker cannot find out what happened to a
// try, it revokes the permit before it tries again. Then a terminal that a killed worker has started, and that
// comes up late, has nothing to start.

// tryRecord has the number of the last try of an attempt.
type tryRecord struct {
	Try int `json:"try"`
}

// PermitPath returns the path of a try's permit.
func (a Attempt) PermitPath(try int) string { return a.LaunchPath() + "-" + strconv.Itoa(try) }

// Grant writes the permit of a new try and returns its path.
func (a Attempt) Grant(l Launch) (path string, err error) {
	last, err := a.LastTry()
	if err != nil {
		return "", err
	}
	// The number is recorded first, since an unknown permit could not be revoked.
	if err := WriteRecord(a.File("try"), tryRecord{last + 1}); err != nil {
		return "", err
	}
	path = a.PermitPath(last + 1)
	return path, WriteRecord(path, l)
}

// LastTry returns the number of the last try; 0 means that there was none.
func (a Attempt) LastTry() (int, error) {
	var r tryRecord
	err := ReadRecord(a.File("try"), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return r.Try, err
}

// RevokeLaunch revokes a launch file. It returns true when the file was not taken; then it never can be. The
// file is renamed and not removed: if the worker dies right after, the next worker can still distinguish
// revoked from taken.
func RevokeLaunch(path string) bool {
	revoked := revokedPath(path)
	if os.Rename(path, revoked) == nil {
		_ = os.Truncate(revoked, 0) // it holds secrets
		return true
	}
	return LaunchRevoked(path)
}

// LaunchRevoked reports whether a launch file was revoked before it was taken.
func LaunchRevoked(path string) bool {
	_, err := os.Stat(revokedPath(path))
	return err == nil
}

func revokedPath(launch string) string { return launch + ".revoked" }
