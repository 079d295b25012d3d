package leftover

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of every orphan among its descendants, so that they stay in its tree. The
// setting is not inherited and lasts as long as the process lives.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// carries reports whether the environment with which a process was started names the attempt. The environment
// of another user's process cannot be read, and such a process is not svc's.
func carries(pid int, runID string, attempt int) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	// The fast search comes first: splitting every environment of a host is slow.
	return err == nil && bytes.Contains(environ, []byte(runID)) && carriesIn(strings.Split(string(environ), "\x00"), runID, attempt)
}

// programOf returns the program's name as it was called; empty when it cannot be read.
func programOf(pid int) string {
	argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	program, _, _ := strings.Cut(string(argv), "\x00")
	return program
}
