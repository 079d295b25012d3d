package worker

import (
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/rundir"
	"svc/wire"
)

// dispatch accepts or refuses a run. It is acknowledged when the dispatch is on disk and the session was
// started, or takes long to start; a host that cannot start it refuses it. A dispatch of a known attempt is
// acknowledged again and starts nothing.
func (w *Worker) dispatch(l *link, f *wire.RunDispatch) {
	if want := svc.SessionName(f.RunID); f.SessionName != "" && f.SessionName != want {
		w.ack(l, f, fmt.Sprintf("session_name is %q; the run's is %q", f.SessionName, want))
		return
	}
	if before := l.refusal(key{f.RunID, f.Attempt}); before != "" {
		w.ack(l, f, before)
		return
	}
	if why := w.refusing(); why != "" && w.session(f.RunID, f.Attempt) == nil {
		w.ack(l, f, why)
		return
	}
	s, known, refusal := w.admit(f)
	switch {
	case refusal != "":
		w.ack(l, f, refusal)
	case s == nil:
		w.ack(l, f, "") // the attempt is over
	case known:
		w.tasks.Go(func() {
			select {
			case <-s.accepted:
				w.ack(l, f, s.refusal)
			case <-w.ctx.Done():
			}
		})
	default:
		s.onAnswer = func(refusal string) { w.ack(l, f, refusal) }
		w.tasks.Go(func() {
			if s.accept(f) {
				w.tasks.Go(s.answerInTime)
				s.lead(w.ctx)
			}
		})
	}
}

// answerPatience is how long the answer to a dispatch waits for the start. It must be well below the time after
// which an orchestrator sends the dispatch again.
const answerPatience = 3 * time.Second

// answerInTime accepts a dispatch whose start takes longer than answerPatience. An accepted dispatch can no
// longer be refused.
func (s *session) answerInTime() {
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	select {
	case <-s.accepted:
	case <-s.w.ctx.Done():
	case <-patience.C:
		s.answer("")
	}
}

// answer answers the dispatch, unless it was answered before.
func (s *session) answer(refusal string) {
	if s.takeAnswer() {
		s.giveAnswer(refusal)
	}
}

// takeAnswer reserves the answer for the caller, which then must call giveAnswer. It returns false when another
// caller has reserved it.
func (s *session) takeAnswer() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.once.answer
	s.once.answer = true
	return !taken
}

func (s *session) giveAnswer(refusal string) {
	s.refusal = refusal
	if s.onAnswer != nil {
		s.onAnswer(refusal)
	}
	close(s.accepted)
}

// withdraw refuses a dispatch that could not be started because of a fault of this host, so that another host
// can take it. It removes the attempt's folder first: after the refusal was sent, no later worker may find
// something to start. It returns false when the run has to fail instead: the fault is not the host's, or the
// dispatch was accepted already.
func (s *session) withdraw(cause error) bool {
	var fault *hostFault
	if !errors.As(cause, &fault) {
		return false
	}
	s.w.hostFailed(fault)
	if !s.takeAnswer() {
		return false
	}
	if err := s.a.Remove(); err != nil {
		s.log.Error("the folder of an attempt that was not started cannot be removed", "error", err)
		s.giveAnswer("")
		return false
	}
	s.giveAnswer(cause.Error())
	s.w.drop(s) // only after ack has stored the refusal
	return true
}

// admit returns the attempt's session, or makes one. Without a session and without a refusal, the attempt is
// already over or cannot be read.
func (w *Worker) admit(f *wire.RunDispatch) (s *session, known bool, refusal string) {
	over, err := w.readTombstone(f.RunID)
	if err != nil {
		return nil, false, err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sessions[key{f.RunID, f.Attempt}]; s != nil {
		return s, true, ""
	}
	newest := w.newest(f.RunID)
	switch {
	case newest != nil && newest.a.Number > f.Attempt:
		return nil, false, fmt.Sprintf("attempt %d of this run is here", newest.a.Number)
	case over > f.Attempt:
		return nil, false, fmt.Sprintf("attempt %d of this run is over here", over)
	case over == f.Attempt:
		return nil, true, ""
	case w.isDamaged(key{f.RunID, f.Attempt}):
		return nil, true, "" // its session may run, so it is acknowledged and not started again
	case w.ctx.Err() != nil:
		return nil, false, "the worker is shutting down"
	}
	s = newSession(w, w.dir.Attempt(f.RunID, f.Attempt), newest)
	s.dispatched(f, hashOf(f.SignalToken))
	w.sessions[key{f.RunID, f.Attempt}] = s
	return s, false, ""
}

// newest returns the session of a run's highest attempt, or nil. The caller holds the lock.
func (w *Worker) newest(runID string) *session {
	var newest *session
	for k, s := range w.sessions {
		if k.runID == runID && (newest == nil || newest.a.Number < k.attempt) {
			newest = s
		}
	}
	return newest
}

func (w *Worker) ack(l *link, f *wire.RunDispatch, refusal string) {
	if refusal != "" {
		l.refuse(key{f.RunID, f.Attempt}, refusal)
		w.log.Warn("dispatch refused", "run_id", f.RunID, "attempt", f.Attempt, "reason", refusal)
	}
	l.out.push(laneControl, &wire.RunDispatchAck{
		RunID: f.RunID, Attempt: f.Attempt, Accepted: refusal == "", Reason: refusal,
	}, nil)
}

// accept writes the dispatch to disk. If that fails it keeps nothing and refuses the dispatch, so that the
// orchestrator may give the attempt to another host.
func (s *session) accept(f *wire.RunDispatch) bool {
	s.rec = rundir.Dispatch{Run: *f, ReceivedAt: svc.TimeOf(s.w.opts.Now()), State: rundir.StateAccepted, TokenHash: s.tokenHash}
	err := s.a.Create()
	if err == nil {
		err = s.a.WriteDispatch(s.rec)
	}
	if err == nil {
		s.w.spool.follow(s.a)
		s.log.Info("dispatch recorded", "provider", f.Provider)
		return true
	}
	if err := s.a.Remove(); err != nil {
		s.log.Error("the folder of a refused attempt cannot be removed", "error", err)
	}
	fault := &hostFault{fmt.Errorf("the dispatch could not be recorded: %w", err)}
	s.w.hostFailed(fault)
	s.answer(fault.Error())
	s.w.drop(s) // only after ack has stored the refusal
	return false
}

// hashOf returns a token's hash; empty for no token.
func hashOf(token string) string {
	if token == "" {
		return ""
	}
	return svc.SecretHash(token)
}

// attempts returns every attempt whose folder may receive signals.
func (w *Worker) attempts() []rundir.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]rundir.Attempt, 0, len(w.sessions)+len(w.damaged)+len(w.late))
	for _, s := range w.sessions {
		all = append(all, s.a)
	}
	for _, set := range []map[key]rundir.Attempt{w.damaged, w.late} {
		for _, a := range set {
			all = append(all, a)
		}
	}
	return all
}

// session returns the session of an attempt, or nil.
func (w *Worker) session(runID string, attempt int) *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[key{runID, attempt}]
}

// drop removes a session that is over from the worker's memory.
func (w *Worker) drop(s *session) {
	w.mu.Lock()
	delete(w.sessions, key{s.a.RunID, s.a.Number})
	w.mu.Unlock()
	s.closeOnce(&s.once.gone, s.gone)
}

// inventory lists every attempt that this worker holds: those with a live session, those whose session is about
// to start, and those whose end is not reported yet. For the orchestrator an attempt is not over before its end
// was reported.
func (w *Worker) inventory() []wire.LiveRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := []wire.LiveRun{}
	for k, s := range w.sessions {
		if !s.isReported() {
			held = append(held, wire.LiveRun{RunID: k.runID, Attempt: k.attempt})
		}
	}
	for k := range w.spool.pendingEnds() {
		if w.sessions[k] == nil {
			held = append(held, wire.LiveRun{RunID: k.runID, Attempt: k.attempt})
		}
	}
	for k := range w.damaged {
		held = append(held, wire.LiveRun{RunID: k.runID, Attempt: k.attempt})
	}
	return held
}
