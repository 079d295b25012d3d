package worker

import (
	"context"
	"fmt"
	"os"
	"time"

	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// A gap is output that is missing from the log, because the log's writer ended or could not write. The log is
// marked at that place, the run gets a hint, and while there is no writer the screen is captured without
// waiting for the log to grow.

// logGap is the state of the gap in a session's log.
type logGap struct {
	unpiped bool   // the log has no writer now
	marked  bool   // the mark was written into the log
	hint    string // the newest hint for people who look at the run; empty: there was no gap
}

func (s *session) sinkState() string { return s.a.SinkPath() }

// pipeAgain marks the gap that a writer's end has left and starts another writer. It is called again until the
// log has a writer. On a full disk that succeeds only when there is room again.
func (s *session) pipeAgain(ctx context.Context, p place) {
	s.complain("the log's writer has ended; it is started again")
	s.mu.Lock()
	first, marked := !s.gap.unpiped, s.gap.marked
	s.gap.unpiped = true
	s.mu.Unlock()
	at := s.w.opts.Now().UTC().Format(time.TimeOnly)
	if first {
		s.setHint("output is missing from the log: its writer ended; noticed at " + at + " UTC")
	}
	logFile := s.w.dir.LogPath(s.a.RunID)
	if !marked {
		if err := s.markGap(logFile, at); err != nil {
			s.setHint("the log has stopped: " + rundir.CauseOf(err))
			return
		}
	}
	if err := p.server.Pipe(ctx, p.pane, tmux.Spec{LogFile: logFile, Sink: s.sinkArgv(logFile)}); err != nil {
		s.log.Warn("the log's writer cannot be started", "error", err)
		return
	}
	s.findWriter(p)
}

// findWriter finds the process that writes the log. Like the wrapper, it is a child of the session's tmux. tmux
// notices the writer's end only at the next output, which is then lost. findWriter returns true when there
// certainly is no writer.
func (s *session) findWriter(p place) (none bool) {
	s.writer = process.ID{}
	all, err := process.All()
	for _, found := range all {
		if found.Parent == p.host.PID && found.PID != p.process.PID && !found.Ended {
			s.writer = found.ID
		}
	}
	return err == nil && s.writer.PID == 0
}

// awaitWriter returns a channel that is closed when the writer has ended; nil when there is no writer.
func (s *session) awaitWriter(ctx context.Context, writer process.ID) <-chan struct{} {
	if writer.PID == 0 {
		return nil
	}
	died := make(chan struct{})
	s.parts.Go(func() {
		if writer.Wait(ctx) == nil {
			close(died)
		}
	})
	return died
}

// writerGone reports whether the log of a session has no writer, which tmux itself may not have noticed: the
// writer that was found has ended, or none was found.
func (s *session) writerGone(p place) bool {
	if s.writer.PID == 0 {
		return s.findWriter(p)
	}
	alive, err := s.writer.Alive()
	return err == nil && !alive
}

// markGap writes into the log that output is missing.
func (s *session) markGap(logFile, at string) error {
	if limit := s.w.opts.Config.Worker.MaxLogBytes; limit <= 0 || fileSize(logFile) < limit {
		f, err := rundir.OpenOwn(logFile, os.O_WRONLY|os.O_APPEND)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if _, err := fmt.Fprintf(f, "\r\n[svc: output is missing here: the log's writer ended; noticed at %s UTC]\r\n", at); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap.marked = true
	return nil
}

// piped records that the log has a writer, and sets the hint if that writer has recorded a problem.
func (s *session) piped() {
	s.mu.Lock()
	s.gap.unpiped, s.gap.marked = false, false
	s.mu.Unlock()
	if wrong := rundir.ReadSinkState(s.sinkState()); wrong != "" {
		s.setHint("output is missing from the log: " + wrong)
	}
}

// blind reports whether the log does not show changes of the screen now: it has no writer, or its writer cannot
// write.
func (s *session) blind() bool {
	s.mu.Lock()
	unpiped := s.gap.unpiped
	s.mu.Unlock()
	return unpiped || rundir.ReadSinkState(s.sinkState()) != ""
}

// setHint sets the run's hint and sends it if it has changed.
func (s *session) setHint(text string) {
	s.mu.Lock()
	changed := s.gap.hint != text
	s.gap.hint = text
	s.mu.Unlock()
	if changed {
		s.log.Warn("the run has a hint", "hint", text)
		s.sendHint(s.w.uplink())
	}
}

// sendHint sends the hint, if there is one and the orchestrator has the hints capability.
func (s *session) sendHint(l *link) {
	s.mu.Lock()
	hint := s.gap.hint
	s.mu.Unlock()
	if hint == "" {
		hint = s.homeHint
	}
	if hint != "" && l != nil && l.can(wire.CapHints) && l.greeted.Load() {
		l.out.push(laneControl, &wire.RunHint{RunID: s.a.RunID, Attempt: s.a.Number, Hint: hint}, nil)
	}
}

// reportHints sends the hints of all sessions on a new connection: the orchestrator does not store them.
func (w *Worker) reportHints(l *link) {
	w.mu.Lock()
	all := make([]*session, 0, len(w.sessions))
	for _, s := range w.sessions {
		all = append(all, s)
	}
	w.mu.Unlock()
	for _, s := range all {
		s.sendHint(l)
	}
}
