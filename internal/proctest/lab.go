package proctest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/waittest"
)

// markEnv is the variable with the mark of a test, which every process that the test starts inherits. A worker
// removes variables that begin with SVC_ from the environment of its sessions, so the name begins with another
// prefix.
const markEnv = "PROCTEST_MARK"

// Lab has all that one test starts: a temporary directory and every process in it.
type Lab struct {
	TB   testing.TB
	Dir  string // short, because paths of sockets are below it
	mark string
}

// NewLab makes a lab. When the test ends, all processes of the lab are killed and its directory is removed.
func NewLab(tb testing.TB) *Lab {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "svcpt")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Lab{TB: tb, Dir: dir, mark: rand.Text()}
	tb.Cleanup(func() {
		l.endAll()
		l.wantNoRaces(tb)
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove the lab: %v", err)
		}
	})
	return l
}

// Path returns a path in the lab's directory, and makes the folder above it.
func (l *Lab) Path(parts ...string) string {
	l.TB.Helper()
	path := filepath.Join(append([]string{l.Dir}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.TB.Fatal(err)
	}
	return path
}

// environ returns the environment of every process of the lab.
func (l *Lab) environ(more ...string) []string {
	env := []string{
		markEnv + "=" + l.mark, "PATH=" + os.Getenv("PATH"), "HOME=" + l.Dir, "LANG=C.UTF-8", "SHELL=/bin/sh",
		"XDG_RUNTIME_DIR=" + l.runtimeDir(), "TMPDIR=" + l.Dir,
		l.raceOptions(),
	}
	return append(env, more...)
}

func (l *Lab) runtimeDir() string {
	dir := filepath.Join(l.Dir, "rt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.TB.Fatal(err)
	}
	return dir
}

// Proc is a live process of the lab.
type Proc struct {
	PID     int
	Command string // its arguments, with spaces between
}

// Processes lists the live processes that have the lab's mark, or a path of the lab in their arguments: the processes
// that the test started, and their descendants.
func (l *Lab) Processes() []Proc {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		l.TB.Fatalf("list processes: %v", err)
	}
	var found []Proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || len(args) == 0 {
			continue // it has ended
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		marked := err == nil && bytes.Contains(environ, []byte(markEnv+"="+l.mark))
		if !marked && !bytes.Contains(args, []byte(l.Dir+"/")) { // programs of a terminal multiplexer do not inherit the mark
			continue
		}
		found = append(found, Proc{pid, strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte(" "))))})
	}
	return found
}

// WantProcesses waits until exactly n live processes have a command that matches the pattern.
func (l *Lab) WantProcesses(n int, pattern string) {
	l.TB.Helper()
	fits := regexp.MustCompile(pattern)
	var have []Proc
	fulfilled := func() bool {
		have = slices.DeleteFunc(l.Processes(), func(p Proc) bool { return !fits.MatchString(p.Command) })
		return len(have) == n
	}
	if !waittest.Within(waittest.Patience, fulfilled) {
		l.TB.Fatalf("%d processes fit %q, want %d: %v", len(have), pattern, n, have)
	}
}

// endAll kills the remaining processes. It may need more than one pass, because a process can start another one
// before it is killed.
func (l *Lab) endAll() {
	deadline := time.Now().Add(10 * time.Second)
	for left := l.Processes(); len(left) > 0; left = l.Processes() {
		if time.Now().After(deadline) {
			l.TB.Errorf("processes outlive the test: %v", left)
			return
		}
		for _, p := range left {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				l.TB.Errorf("end process %d (%s): %v", p.PID, p.Command, err)
			}
		}
		Pause(10 * time.Millisecond)
	}
}
