package leftover

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt is not supported on this system: an orphan is adopted by the system's first process, and is then found
// by its terminal session or its environment.
func Adopt() error { return errors.ErrUnsupported }

// carries reports whether the environment with which a process was started names the attempt. The environment
// of another user's process cannot be read, and such a process is not svc's.
func carries(pid int, runID string, attempt int) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false
	}
	_, environ := splitArgs(raw)
	return carriesIn(environ, runID, attempt)
}

// programOf returns the program's name as it was called; empty when it cannot be read.
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

// splitArgs parses the arguments and the environment. It skips the argument count, the program's path and its
// padding.
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
