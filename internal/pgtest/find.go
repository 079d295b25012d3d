package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// places are the directories of the server's programs on systems that do not put them on the PATH: Debian, Red Hat's
// community packages and Homebrew.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

var errNotFound = errors.New("no PostgreSQL server found (initdb and postgres): `make test` installs it, " +
	"or install your system's postgresql package, or set " + Env + " to the postgres:// URL of a running server")

// findServer returns the directory that has initdb and postgres: the first such directory of the PATH, else that of
// the newest version among the globs.
func findServer(path string, globs []string) (string, error) {
	var dirs []string
	for _, glob := range globs {
		found, err := filepath.Glob(glob)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })

	for _, dir := range append(filepath.SplitList(path), dirs...) {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errNotFound
}

var number = regexp.MustCompile(`\d+`)

// version returns the first number in the path, which is the major version in all of the places; 0 without a number.
func version(dir string) int {
	n, err := strconv.Atoi(number.FindString(dir))
	if err != nil {
		return 0
	}
	return n
}

func executable(file string) bool {
	if !filepath.IsAbs(file) {
		return false // an empty or relative entry of PATH
	}
	_, err := exec.LookPath(file)
	return err == nil
}

// serverDir returns the directory of the server's programs on this machine.
func serverDir() (string, error) { return findServer(os.Getenv("PATH"), places) }
