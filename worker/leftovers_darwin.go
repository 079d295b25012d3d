package worker

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"svc/tmux"
)

// processesOf reads the arguments and environment that each process was started with. Those of other
// users are not readable, and not ours.
func processesOf(runID string, attempt int) ([]leftover, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var found []leftover
	for _, info := range all {
		pid := int(info.Proc.P_pid)
		start, err := tmux.ProcessStart(pid)
		if err != nil {
			continue // it has ended
		}
		raw, err := unix.SysctlRaw("kern.procargs2", pid)
		if err != nil || !carries(environOf(raw), runID, attempt) {
			continue
		}
		command := unix.ByteSliceToString(info.Proc.P_comm[:])
		found = append(found, leftover{tmux.Process{PID: pid, Start: start}, command})
	}
	return found, nil
}

// environOf skips the count of arguments, the program's path and its padding, and the arguments.
func environOf(raw []byte) []string {
	if len(raw) < 4 {
		return nil
	}
	count := int(binary.NativeEndian.Uint32(raw))
	_, rest, _ := strings.Cut(string(raw[4:]), "\x00")
	words := strings.Split(strings.TrimLeft(rest, "\x00"), "\x00")
	if count > len(words) {
		return nil
	}
	return words[count:]
}
