package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func read(pid int) (Stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) {
		return Stat{}, fs.ErrNotExist
	}
	if err != nil {
		return Stat{}, err
	}
	return parse(text)
}

// All returns every live process.
func All() ([]Stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []Stat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := read(pid); err == nil && !p.Ended {
			all = append(all, p)
		}
	}
	return all, nil
}

// parse parses /proc/<pid>/stat. The command may contain spaces and parentheses, so the fields after it are
// counted from the last parenthesis: the state is the 3rd field, the parent the 4th, the terminal session the
// 6th, the number of threads the 20th, the start the 22nd.
func parse(text []byte) (p Stat, err error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if open < 0 || end < open || len(fields) < 20 {
		return p, fmt.Errorf("unexpected process record %q", text)
	}
	p.Command = string(text[open+1 : end])
	var threads int
	for _, n := range []struct {
		to   *int
		text string
	}{{&p.PID, strings.TrimSpace(string(text[:open]))}, {&p.Parent, fields[1]}, {&p.Session, fields[3]}, {&threads, fields[17]}} {
		if *n.to, err = strconv.Atoi(n.text); err != nil {
			return p, fmt.Errorf("unexpected process record %q", text)
		}
	}
	if p.Start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return p, fmt.Errorf("unexpected process record %q", text)
	}
	// A first thread that ended before the others shows as a zombie while the process runs.
	p.Ended = (fields[0] == "Z" || fields[0] == "X") && threads <= 1
	return p, nil
}

// InnerPID returns a process's pid in its own PID namespace; 0: the process has ended.
func InnerPID(pid int) int {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // empty if the process has ended
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			numbers := strings.Fields(rest) // from the reader's namespace to the innermost one
			n, _ := strconv.Atoi(numbers[len(numbers)-1])
			return n
		}
	}
	return 0
}

// Asleep reports whether the process is idle now: each of its threads sleeps. A process that has ended is idle.
func (p ID) Asleep() bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(p.PID) + "/task/*/stat") // the pattern is well formed
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue
		}
		state := bytes.TrimLeft(text[bytes.LastIndexByte(text, ')')+1:], " ")
		if len(state) > 0 && !bytes.Contains([]byte("SIZX"), state[:1]) {
			return false
		}
	}
	return true
}

// slowLook is how often a waiter checks the process in addition to the notification, which may be missed.
const slowLook = 10 * time.Second

// waitExit waits on a pidfd through the runtime's poller, so that a waiter costs no thread.
func waitExit(ctx context.Context, p ID) error {
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return pollExit(ctx, p) // the process has ended, or the kernel has no pidfd
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

// awaitReadable returns true when the pidfd reports that its process has ended, and false when ctx has ended or
// slowLook has passed.
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
