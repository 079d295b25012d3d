// Package process reads the system's processes: which process has a pid, whether it lives, when it ends, what
// its parent is. It is independent of runs.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ID identifies a process permanently: a pid is reused, but a pid with its start time is unique until the host
// restarts. Compare two values with ==. Records on disk contain its JSON.
type ID struct {
	PID int `json:"pid"`
	// Start is the start time since the host's start in clock ticks (Linux), or in microseconds since 1970 (macOS). Zero: unknown,
	// because the process had ended before it was read.
	Start uint64 `json:"start"`
}

// Stat is a process at one moment.
type Stat struct {
	ID
	Parent, Session int    // the pids of its parent and of its terminal session's leader
	Command         string // the program's name as the system stores it, cut to a few bytes
	Ended           bool   // it is a zombie: its parent has not waited for it yet
}

// Of returns the ID of the process that has a pid now. The error is fs.ErrNotExist when there is none; the
// returned ID has the pid also after an error.
func Of(pid int) (ID, error) {
	stat, err := Read(pid)
	if err != nil {
		return ID{PID: pid}, err
	}
	return stat.ID, nil
}

// Self returns the ID of this process.
func Self() ID {
	id, _ := Of(os.Getpid()) // Start is 0 if it cannot be read
	return id
}

// Read returns the process that has a pid now. The error is fs.ErrNotExist when there is none.
func Read(pid int) (Stat, error) {
	stat, err := read(pid)
	if err != nil {
		return Stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return stat, nil
}

// Children returns the live processes whose parent is the given one.
func Children(parent int) []ID {
	all, err := All()
	if err != nil {
		return nil
	}
	var children []ID
	for _, p := range all {
		if p.Parent == parent {
			children = append(children, p.ID)
		}
	}
	return children
}

// Alive reports whether exactly this process still runs. A zombie does not count as running. After an error the
// state is unknown.
func (p ID) Alive() (bool, error) {
	if p.PID <= 0 {
		return false, nil
	}
	stat, err := Read(p.PID)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && stat.ID == p && !stat.Ended, err
}

// Wait blocks until the process has ended, which it detects at once on Linux and within a quarter of a second
// elsewhere. It works for any process, not only for children. The error is that of ctx.
func (p ID) Wait(ctx context.Context) error { return waitExit(ctx, p) }

// Signal signals exactly this process, never a later one with its pid. It is no error if the process has ended.
func (p ID) Signal(sig syscall.Signal) error {
	alive, err := p.Alive()
	if err != nil || !alive {
		return err
	}
	if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", sig, p.PID, err)
	}
	return nil
}

// pollExit checks the process in intervals. A process that cannot be read counts as not ended.
func pollExit(ctx context.Context, p ID) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if alive, err := p.Alive(); err == nil && !alive {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
