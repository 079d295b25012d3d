package leftover

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of every orphan among its descendants, so that they stay in its
// tree. It is not inherited, and holds as long as the process lives.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// carries reads the environment that a process was started with. That of another user's is not
// readable, and not ours.
func carries(pid int, runID string, attempt int) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	// A quick look first: splitting every environment of a host is slow.
	return err == nil && bytes.Contains(environ, []byte(runID)) && carriesIn(strings.Split(string(environ), "\x00"), runID, attempt)
}

// programOf is the program as it was called; empty when it cannot be read.
func programOf(pid int) string {
	argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	program, _, _ := strings.Cut(string(argv), "\x00")
	return program
}
