package leftover

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt is not possible here: an orphan is adopted by the system's first process. It is then found by
// its terminal session or its environment.
func Adopt() error { return errors.ErrUnsupported }

// carries reads the environment that a process was started with. That of another user's is not
// readable, and not ours.
func carries(pid int, runID string, attempt int) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false
	}
	_, environ := splitArgs(raw)
	return carriesIn(environ, runID, attempt)
}

// programOf is the program as it was called; empty when it cannot be read.
func programOf(pid int) string {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return ""
	}
	argv, _ := splitArgs(raw)
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
}

// splitArgs skips the count of arguments, the program's path and its padding.
func splitArgs(raw []byte) (argv, environ []string) {
	if len(raw) < 4 {
		return nil, nil
	}
	count := int(binary.NativeEndian.Uint32(raw))
	_, rest, _ := strings.Cut(string(raw[4:]), "\x00")
	words := strings.Split(strings.TrimLeft(rest, "\x00"), "\x00")
	if count > len(words) {
		return nil, nil
	}
	return words[:count], words[count:]
}
