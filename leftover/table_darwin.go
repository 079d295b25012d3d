package leftover

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of the system's headers.
const zombieState = 5

// Adopt is not possible here: an orphan is adopted by the system's first process. It is then found by
// its terminal session or its environment.
func Adopt() error { return errors.ErrUnsupported }

// Scan reads all processes.
func Scan() (Table, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := Table{}
	for i := range all {
		if pid := int(all[i].Proc.P_pid); all[i].Proc.P_stat != zombieState {
			table[pid] = entryOf(&all[i])
		}
	}
	return table, nil
}

func entryOf(info *unix.KinfoProc) entry {
	began := info.Proc.P_starttime
	session, _ := unix.Getsid(int(info.Proc.P_pid)) // 0 for a process that has ended
	return entry{
		parent: int(info.Eproc.Ppid), session: session, command: unix.ByteSliceToString(info.Proc.P_comm[:]),
		start: uint64(began.Sec)*1_000_000 + uint64(began.Usec),
	}
}

func startOf(pid int) (start uint64, lives bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombieState {
		return 0, false
	}
	return entryOf(info).start, true
}

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
