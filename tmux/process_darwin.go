package tmux

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of the system's headers.
const zombieState = 5

func readStat(pid int) (processStat, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EIO) {
		return processStat{}, fs.ErrNotExist // the answer is empty for a pid that nobody has
	}
	if err != nil {
		return processStat{}, err
	}
	if int(info.Proc.P_pid) != pid {
		return processStat{}, fs.ErrNotExist
	}
	began := info.Proc.P_starttime
	return processStat{
		start:  uint64(began.Sec)*1_000_000 + uint64(began.Usec),
		zombie: info.Proc.P_stat == zombieState,
	}, nil
}

func waitExit(ctx context.Context, p Process) error { return pollExit(ctx, p) }
