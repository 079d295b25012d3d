package rundir

import "golang.org/x/sys/unix"

func processStart(pid int) uint64 {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return 0
	}
	began := info.Proc.P_starttime
	return uint64(began.Sec)*1_000_000 + uint64(began.Usec)
}
