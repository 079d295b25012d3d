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

// A gap is output that is missing from the log: its writer ended, or could not write. The log says where,
// the run's hint says that, and the screen is looked at without the log's help meanwhile.

// logGap is what is known of a session's gaps.
type logGap struct {
	unpiped bool   // nobody writes the log now
	marked  bool   // the log says so
	hint    string // the last word about it, for whoever looks at the run; empty: there was no gap
}

func (s *session) sinkState() string { return s.a.SinkPath() }

// pipeAgain marks the gap of a writer that has ended and starts another. It is called until the pipe
// is seen again; on a disk that is full now, that is when there is room.
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

// findWriter finds the process that writes the log, a child of the session's tmux as the wrapper is: tmux
// notices its end only with the next output, which is lost then. It answers whether there is none for
// certain.
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

// awaitWriter answers a channel that is closed when the writer has ended; nil when there is none.
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

// writerGone says whether nobody writes the log of a session, which tmux itself may not have noticed: the
// writer that was found has ended, or had ended before it was found.
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

// piped notes that the log has a writer, and asks how it fares.
func (s *session) piped() {
	s.mu.Lock()
	s.gap.unpiped, s.gap.marked = false, false
	s.mu.Unlock()
	if wrong := rundir.ReadSinkState(s.sinkState()); wrong != "" {
		s.setHint("output is missing from the log: " + wrong)
	}
}

// blind says whether the log does not tell of changes on the screen now: nobody writes it, or who does
// cannot.
func (s *session) blind() bool {
	s.mu.Lock()
	unpiped := s.gap.unpiped
	s.mu.Unlock()
	return unpiped || rundir.ReadSinkState(s.sinkState()) != ""
}

// setHint makes text the hint of the run and tells it.
func (s *session) setHint(text string) {
	s.mu.Lock()
	changed := s.gap.hint != text
	s.gap.hint = text
	s.mu.Unlock()
	if changed {
		s.log.Warn("the run has a hint", "hint", text)
		s.tellHint(s.w.uplink())
	}
}

// tellHint sends the hint, if there is one and the orchestrator knows hints.
func (s *session) tellHint(l *link) {
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

// reportHints tells a new connection the hints of all sessions: the orchestrator does not store them.
func (w *Worker) reportHints(l *link) {
	w.mu.Lock()
	all := make([]*session, 0, len(w.sessions))
	for _, s := range w.sessions {
		all = append(all, s)
	}
	w.mu.Unlock()
	for _, s := range all {
		s.tellHint(l)
	}
}
