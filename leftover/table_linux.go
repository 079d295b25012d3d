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

// Scan reads all processes.
func Scan() (Table, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	table := Table{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, lives := readStat(pid); lives {
			table[pid] = p
		}
	}
	return table, nil
}

// readStat reads /proc/<pid>/stat. The name may hold anything, so the fields are counted from the last
// parenthesis.
func readStat(pid int) (p entry, lives bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 {
		return p, false
	}
	p.command = string(text[open+1 : end])
	p.parent, _ = strconv.Atoi(fields[1])
	p.session, _ = strconv.Atoi(fields[3])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	// A first thread that ended before the others shows as a zombie while the process runs.
	ended := (fields[0] == "Z" || fields[0] == "X") && fields[17] == "1"
	return p, err == nil && !ended
}

func startOf(pid int) (start uint64, lives bool) {
	p, lives := readStat(pid)
	return p.start, lives
}

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
