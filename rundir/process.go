package rundir

import "os"

// Process names a process once and for ever: pids are used again, a pid with its start time is not
// until the host restarts. It has the shape of tmux.Process and converts to it.
type Process struct {
	PID int `json:"pid"`
	// Start is the start time since the host's start in clock ticks (Linux), or in microseconds since
	// 1970 (macOS). Zero means unknown.
	Start uint64 `json:"start"`
}

// ProcessOf names the process that has this pid now; its start is zero when it cannot be read.
func ProcessOf(pid int) Process { return Process{PID: pid, Start: processStart(pid)} }

// Self names this process.
func Self() Process { return ProcessOf(os.Getpid()) }
