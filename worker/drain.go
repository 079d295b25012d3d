package worker

import (
	"context"
	"slices"
	"time"

	"svc/process"
)

// How drain decides that everything has been written.
const (
	drainPoll  = 20 * time.Millisecond
	drainLooks = 5 // consecutive polls without a change
)

// drain waits, as long as the terminal lives, until all output is in the log. tmux passes output to the log's
// writer through a buffer of its own, does not report when that buffer is empty, and loses its content when the
// terminal is closed. But a process with work to do is runnable, even when it gets no CPU time. So when tmux
// and the writer both sleep and the file does not grow, everything is written.
func (s *session) drain(ctx context.Context, host process.ID, writers []process.ID) {
	ctx, cancel := patient(ctx, closeLimit)
	defer cancel()
	path := s.w.dir.LogPath(s.a.RunID)
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	size, still := fileSize(path), 0
	for still < drainLooks {
		select {
		case <-ctx.Done():
			s.log.Warn("the log's writer was not idle in time; the end of the log may be missing")
			return
		case <-tick.C:
		}
		now := fileSize(path)
		if now == size && host.Asleep() && !slices.ContainsFunc(writers, awake) {
			still++
		} else {
			still = 0
		}
		size = now
	}
}

func awake(p process.ID) bool { return !p.Asleep() }

// awaitWriters waits, after the terminal was closed, until the log's writers have exited. They write what they
// have read and exit when their input ends.
func (s *session) awaitWriters(ctx context.Context, writers []process.ID) {
	for _, p := range writers {
		if p.Wait(ctx) != nil {
			s.log.Warn("the log's writer does not exit", "pid", p.PID)
			return
		}
	}
}
