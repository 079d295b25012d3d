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
)

// markEnv carries the mark of a test through everything it starts. A worker hands no variable that begins
// with SVC_ down to its sessions, so this one does not.
const markEnv = "PROCTEST_MARK"

// Lab is one test's world: a short temporary directory and every process in it.
type Lab struct {
	TB   testing.TB
	Dir  string // short: sockets live below it
	mark string
}

// NewLab makes a lab. When the test ends, all of its processes are ended and its directory is
// removed.
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

// Path is a path in the lab's directory; the folder above it is made.
func (l *Lab) Path(parts ...string) string {
	l.TB.Helper()
	path := filepath.Join(append([]string{l.Dir}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.TB.Fatal(err)
	}
	return path
}

// environ is what every process of the lab is started with.
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

// Processes lists the live processes that carry the lab's mark or were given a path of the lab: what
// the test started, and all that came of it.
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
		if !marked && !bytes.Contains(args, []byte(l.Dir+"/")) { // a terminal's own programs inherit nothing
			continue
		}
		found = append(found, Proc{pid, strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte(" "))))})
	}
	return found
}

// WantProcesses waits until exactly n live processes have a command that fits the pattern.
func (l *Lab) WantProcesses(n int, pattern string) {
	l.TB.Helper()
	fits := regexp.MustCompile(pattern)
	var have []Proc
	fulfilled := func() bool {
		have = slices.DeleteFunc(l.Processes(), func(p Proc) bool { return !fits.MatchString(p.Command) })
		return len(have) == n
	}
	if !within(Patience, fulfilled) {
		l.TB.Fatalf("%d processes fit %q, want %d: %v", len(have), pattern, n, have)
	}
}

// endAll kills what is left. More than one pass is needed, since what is killed may start something
// before it ends.
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
