// Package process is what the system tells of processes: which one has a pid, whether it lives, when it ends, what it descends from.
// It knows no runs.
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

// ID names a process once and for ever: pids are used again, a pid with its start time is not until the host restarts. Two values are
// compared with ==. Its JSON is in records on disk.
type ID struct {
	PID int `json:"pid"`
	// Start is the start time since the host's start in clock ticks (Linux), or in microseconds since 1970 (macOS). Zero: unknown,
	// because the process had ended before it was read.
	Start uint64 `json:"start"`
}

// Stat is a process at one moment.
type Stat struct {
	ID
	Parent, Session int    // pids: of the process that it descends from, and of its terminal session's leader
	Command         string // the program's name as the system keeps it, cut off after some bytes
	Ended           bool   // its parent has not asked for its result yet
}

// Of names the process that has a pid now. The error is fs.ErrNotExist when there is none; the pid stands in the answer all the same.
func Of(pid int) (ID, error) {
	stat, err := Read(pid)
	if err != nil {
		return ID{PID: pid}, err
	}
	return stat.ID, nil
}

// Self names this process.
func Self() ID {
	id, _ := Of(os.Getpid()) // without a start when the system does not tell it
	return id
}

// Read is the process that has a pid now. The error is fs.ErrNotExist when there is none.
func Read(pid int) (Stat, error) {
	stat, err := read(pid)
	if err != nil {
		return Stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return stat, nil
}

// Children names the processes that another one has started and that live.
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

// Alive tells whether this very process still runs. A process that has ended but was not yet collected by its parent does not. An error
// means that it is unknown.
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

// Wait blocks until the process has ended, which it notices at once on Linux and within a quarter of a second elsewhere. It works for
// any process, not only for children. The error is that of ctx.
func (p ID) Wait(ctx context.Context) error { return waitExit(ctx, p) }

// Signal signals this very process, and never a later one with its pid. One that has ended is no error.
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

// pollExit asks again and again. A process that cannot be read counts as not ended.
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
