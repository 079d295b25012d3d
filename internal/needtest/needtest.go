// Package needtest finds the programs that tests run, and fails or skips a test whose program is missing. It fails by
// default, because nobody would notice a test that is always skipped.
package needtest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Program returns the path of a program that scripts/install-test-deps always installs. Without the program the test
// fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed; scripts/install-test-deps installs it", name)
	}
	return path
}

// Extra returns the path of a program that only one test needs, so that not every machine must have it.
// `scripts/install-test-deps all` installs it on Linux; with CI set, plain `scripts/install-test-deps` does too.
// Without the program, the test fails on Linux with CI set, and is skipped elsewhere.
func Extra(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case runtime.GOOS == "linux" && os.Getenv("CI") != "":
		t.Fatalf("%s is not installed, and in continuous integration it must be; scripts/install-test-deps installs it there", name)
	default:
		t.Skipf("%s is not installed; scripts/install-test-deps all installs it", name)
	}
	return path
}
