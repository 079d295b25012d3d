package process

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of the system's headers.
const zombieState = 5

func read(pid int) (Stat, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EIO) {
		return Stat{}, fs.ErrNotExist // the answer is empty for a pid without a process
	}
	if err != nil {
		return Stat{}, err
	}
	if int(info.Proc.P_pid) != pid {
		return Stat{}, fs.ErrNotExist
	}
	return statOf(info), nil
}

// All returns every live process.
func All() ([]Stat, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var all []Stat
	for i := range infos {
		if p := statOf(&infos[i]); !p.Ended {
			all = append(all, p)
		}
	}
	return all, nil
}

func statOf(info *unix.KinfoProc) Stat {
	began := info.Proc.P_starttime
	session, _ := unix.Getsid(int(info.Proc.P_pid)) // 0 for a process that has ended
	return Stat{
		ID:     ID{PID: int(info.Proc.P_pid), Start: uint64(began.Sec)*1_000_000 + uint64(began.Usec)},
		Parent: int(info.Eproc.Ppid), Session: session, Command: unix.ByteSliceToString(info.Proc.P_comm[:]),
		Ended: info.Proc.P_stat == zombieState,
	}
}

// Asleep always returns true here: the states of a process's threads are not available on this system.
func (p ID) Asleep() bool { return true }

func waitExit(ctx context.Context, p ID) error { return pollExit(ctx, p) }
