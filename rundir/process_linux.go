package rundir

import (
	"bytes"
	"os"
	"strconv"
)

// processStart reads the 22nd field of /proc/<pid>/stat, counted from the last parenthesis because
// the command name may hold anything.
func processStart(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0
	}
	return start
}
