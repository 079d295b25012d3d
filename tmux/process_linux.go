package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readStat reads /proc/<pid>/stat. The command name in it may hold spaces and parentheses, so the
// fields are counted from the last parenthesis: the state is the 3rd field, the number of threads
// the 20th, the start the 22nd.
func readStat(pid int) (processStat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) {
		return processStat{}, fs.ErrNotExist
	}
	if err != nil {
		return processStat{}, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return processStat{}, fmt.Errorf("unexpected process record %q", text)
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("unexpected process record %q", text)
	}
	// A first thread that ended before the others shows as a zombie while the process runs.
	ended := fields[0][0] == 'Z' || fields[0][0] == 'X'
	threads, err := strconv.Atoi(string(fields[17]))
	return processStat{start: start, zombie: ended && (err != nil || threads <= 1)}, nil
}

// slowLook is how often a waiting process is looked at besides the notification: a wake-up is never
// the truth.
const slowLook = 10 * time.Second

// waitExit waits on a pidfd through the runtime's poller, so that a waiter costs no thread.
func waitExit(ctx context.Context, p Process) error {
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return pollExit(ctx, p) // gone already, or a kernel without pidfd
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = file.Close() }()
	raw, err := file.SyscallConn()
	if err != nil || file.SetReadDeadline(time.Time{}) != nil {
		return pollExit(ctx, p) // not pollable here
	}
	for {
		if alive, err := p.Alive(); err == nil && !alive {
			return nil
		}
		ended, err := awaitReadable(ctx, file, raw)
		switch {
		case ended:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return pollExit(ctx, p)
		}
	}
}

// awaitReadable returns true when the pidfd says that its process has ended, and false when ctx has
// ended or slowLook has passed.
func awaitReadable(ctx context.Context, file *os.File, raw syscall.RawConn) (bool, error) {
	if err := file.SetReadDeadline(time.Now().Add(slowLook)); err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err := raw.Read(func(fd uintptr) bool {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return ready > 0 && err == nil
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}
