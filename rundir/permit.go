package rundir

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// A permit is a launch file: whoever takes it starts the provider, and it can be taken once. Each try to start an attempt has a permit of
// its own name, launch-<try>. A worker that may not know what became of a try revokes its permit before it tries again, so that a terminal
// that comes up late, on behalf of a worker that was killed, finds nothing to start.

// tryRecord numbers the tries of an attempt.
type tryRecord struct {
	Try int `json:"try"`
}

// PermitPath is where the permit of a try is.
func (a Attempt) PermitPath(try int) string { return a.LaunchPath() + "-" + strconv.Itoa(try) }

// Grant writes the permit of a new try and answers where it is.
func (a Attempt) Grant(l Launch) (path string, err error) {
	last, err := a.LastTry()
	if err != nil {
		return "", err
	}
	// The number first: a permit that is not on record could not be revoked.
	if err := WriteRecord(a.File("try"), tryRecord{last + 1}); err != nil {
		return "", err
	}
	path = a.PermitPath(last + 1)
	return path, WriteRecord(path, l)
}

// LastTry is the number of the last try; 0 means that there was none.
func (a Attempt) LastTry() (int, error) {
	var r tryRecord
	err := ReadRecord(a.File("try"), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return r.Try, err
}

// RevokeLaunch takes a launch file back. True means that it was not taken, and never will be. It is renamed and not removed: a worker that
// dies right after leaves the trace that the next one needs to tell revoked from taken.
func RevokeLaunch(path string) bool {
	revoked := revokedPath(path)
	if os.Rename(path, revoked) == nil {
		_ = os.Truncate(revoked, 0) // it holds secrets
		return true
	}
	return LaunchRevoked(path)
}

// LaunchRevoked tells whether a launch file was revoked before it was taken.
func LaunchRevoked(path string) bool {
	_, err := os.Stat(revokedPath(path))
	return err == nil
}

func revokedPath(launch string) string { return launch + ".revoked" }
