// Package needtest finds the programs that tests run and says what becomes of a test where one is missing. A test that is
// skipped for want of a program that nobody notices to be missing is no test.
package needtest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Program is the path of a program that scripts/install-test-deps always installs. Without it the test fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed; scripts/install-test-deps installs it", name)
	}
	return path
}

// Extra is the path of a program that only one test runs and that not every machine should have for it. "scripts/install-test-deps
// all" installs it on Linux, which is what it does by itself in continuous integration, where CI is set: there the test fails without
// it. Elsewhere it is skipped.
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
