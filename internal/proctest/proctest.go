// Package proctest runs the real binary in real processes, so that tests can cause real failures: kill processes at
// any time, break the network, fill the disk.
//
// The binary is built once per test process. If the environment variable SVC_TEST_BINARY is set to a path, that
// binary is tested instead.
//
// Every process that a test starts, and every descendant, has the mark of that test in its environment, or a path of
// that test in its arguments. At the end of the test the remaining processes are killed by their PIDs. So a session
// that outlives its worker, as sessions do, does not outlive the test. Every server listens on a loopback address,
// and all files are in temporary directories.
//
// A package that uses it needs this TestMain, which removes the binary:
//
//	func TestMain(m *testing.M) { os.Exit(proctest.Main(m)) }
package proctest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/clocktest"
)

// BinaryEnv is the name of the variable with the path of the binary to test, instead of building one.
const BinaryEnv = "SVC_TEST_BINARY"

// LongEnv is the name of the variable that turns on the long variants of tests.
const LongEnv = "SVC_TEST_LONG"

// Long reports whether the long variants of tests run.
func Long() bool { return os.Getenv(LongEnv) != "" }

// built is the binary of this test process.
var built struct {
	sync.Once
	dir, path string
	err       error
}

// Main runs the tests of m, removes the binary and returns the exit code for os.Exit.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, "proctest:", err)
			code = max(code, 1)
		}
	}
	return code
}

// MainParallel is Main with the given number of parallel tests, on any number of cores: tests of processes wait more
// than they compute.
func MainParallel(m interface{ Run() int }, tests int) int {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
	return Main(m)
}

// Binary returns the path of the binary under test. The file's name is svc, so that programs in a session find it on
// their PATH by that name.
func Binary(tb testing.TB) string {
	tb.Helper()
	built.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		tb.Fatalf("proctest: %v", built.err)
	}
	return built.path
}

func build() (string, error) {
	if given := os.Getenv(BinaryEnv); given != "" {
		return filepath.Abs(given)
	}
	var err error
	if built.dir, err = os.MkdirTemp("", "svc-proctest-"); err != nil {
		return "", err
	}
	path := filepath.Join(built.dir, "svc")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	// The caller may be a module of its own that lists only what it imports itself.
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "svc").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	args := []string{"build", "-C", strings.TrimSpace(string(root)), "-o", path}
	if raceDetector {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/svc")...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, said)
	}
	return path, nil
}

// Pause waits in real time, for tests that are about the passing of time, such as an outage of some seconds. Do not
// use it to wait for an event.
func Pause(d time.Duration) { clocktest.Pause(d) }
