package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// Process names a process once and for ever: pids are used again, a pid with its start time is not
// (until the host restarts). Two values are compared with ==.
type Process struct {
	PID int `json:"pid"`
	// Start is the process's start time since the host's start in clock ticks (Linux), or in
	// microseconds since 1970 (macOS). Zero means that the process had ended before it was read.
	Start uint64 `json:"start"`
}

// ProcessStart answers when the process that has this pid now was started, in the unit of
// Process.Start. The error is fs.ErrNotExist when there is no such process.
func ProcessStart(pid int) (uint64, error) {
	stat, err := readStat(pid)
	if err != nil {
		return 0, fmt.Errorf("read start of process %d: %w", pid, err)
	}
	return stat.start, nil
}

// processOf names the process that has this pid now.
func processOf(pid int) (Process, error) {
	start, err := ProcessStart(pid)
	return Process{PID: pid, Start: start}, err
}

// processStat is what the system tells of a process.
type processStat struct {
	start  uint64
	zombie bool // it has ended; its parent has not asked for its result yet
}

// Alive tells whether this very process still runs. A process that has ended but was not yet
// collected by its parent does not. An error means that it is unknown.
func (p Process) Alive() (bool, error) {
	if p.PID <= 0 {
		return false, nil
	}
	stat, err := readStat(p.PID)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at process %d: %w", p.PID, err)
	}
	return stat.start == p.Start && !stat.zombie, nil
}

// Wait blocks until the process has ended, which it notices at once on Linux and within a quarter
// of a second elsewhere. It works for any process, not only for children. The error is that of ctx.
func (p Process) Wait(ctx context.Context) error {
	return waitExit(ctx, p)
}

// signal sends sig to this very process; one that has ended is no error.
func (p Process) signal(sig syscall.Signal) error {
	alive, err := p.Alive()
	if err != nil || !alive {
		return err
	}
	if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", sig, p.PID, err)
	}
	return nil
}

// pollExit asks again and again. A process that cannot be looked at counts as not ended.
func pollExit(ctx context.Context, p Process) error {
	return poll(ctx, 250*time.Millisecond, func() (bool, error) {
		alive, err := p.Alive()
		return err == nil && !alive, nil
	})
}

// poll calls done at once and then in intervals, until it is true, fails, or ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
