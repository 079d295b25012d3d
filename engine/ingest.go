package engine

import (
	"context"

	"svc"
	"svc/hub"
	"svc/store"
)

// Ingest applies a signal that the orchestrator itself has made: guard, status, journal, in one unit of work. A
// signal is applied at most once, on whichever path it arrives.
func (e *Engine) Ingest(ctx context.Context, s svc.Signal) (svc.Outcome, error) {
	return e.ingest(ctx, Reporter{Host: anyHost}, s)()
}

// ingest is Ingest in two steps. When it returns, the signal is queued in order among all changes. The returned
// function waits until the signal is durable.
func (e *Engine) ingest(ctx context.Context, who Reporter, s svc.Signal) (wait func() (svc.Outcome, error)) {
	var in ingestion
	var length hub.LogLength
	if endsAttempt(s) {
		e.prepareEnd(ctx, s.RunID)
		length = e.lengthAtEnd(ctx, s)
	}
	rows := []store.Row{store.RunRow(s.RunID)}
	if s.Kind == svc.SignalCompleted {
		rows = append(rows, store.RunProjectRow(s.RunID)) // it may move the run's item
	}
	done := e.Store.QueueRepeatable(ctx, func(tx *store.Tx) error {
		in = ingestion{e: e, tx: tx, who: who, signal: s, length: length}
		return in.run(ctx)
	}, rows...)
	return func() (svc.Outcome, error) {
		if err := done(); err != nil {
			return "", err
		}
		in.afterwards(ctx)
		return in.verdict.Outcome, nil
	}
}

// ingestion applies one signal, in the specified order of steps.
type ingestion struct {
	e       *Engine
	tx      *store.Tx
	who     Reporter
	signal  svc.Signal
	before  svc.Run // the attempt that the signal is about, with the signal applied
	after   svc.Run // the run as it is committed; the next attempt if requeued
	verdict svc.Verdict
	length  hub.LogLength // of the attempt's log, when the signal reports its end
	wrote   bool          // the attempt was active before the signal
	moved   bool          // the row changed
}

func (in *ingestion) run(ctx context.Context) error {
	r, err := in.tx.LockRun(ctx, in.signal.RunID)
	if err != nil {
		return err
	}
	in.before, in.after = r, r
	if r.ConversationLost(in.signal) {
		in.signal = in.signal.LosesConversation()
	}
	outcome, err := in.guard(ctx, r)
	if err != nil {
		return err
	}
	if in.confirms(&r, outcome) {
		in.verdict.Outcome = svc.Duplicate
		if outcome == svc.Applied && !r.EndClaimed {
			in.verdict.Outcome = svc.Superseded
		}
		return in.confirm(ctx, r)
	}
	if outcome != svc.Applied {
		in.verdict.Outcome = outcome
		return in.laterTurnEnd(ctx, r)
	}
	in.wrote = writes(r)
	in.signal.SessionOpen = in.signal.Claim && in.e.canConfirm(&r)
	in.verdict = r.Apply(in.signal, in.tx.Now)
	in.noteLength(&r)
	in.before, in.moved = r, true
	if in.verdict.Topic != "" {
		in.journal(&r)
	}
	if in.signal.Kind == svc.SignalCompleted {
		if err := in.markDone(ctx, r); err != nil {
			return err
		}
	}
	if in.signal.Submitted != "" {
		if err := acknowledge(ctx, in.tx, &r, in.signal.Submitted); err != nil {
			return err
		}
	}
	if in.ended() && r.MayRestart() {
		in.e.requeue(in.tx, &r, "restart policy "+string(r.RestartPolicy))
	}
	in.after = r
	return in.tx.UpdateRun(ctx, &in.after)
}

// guard runs before every write: a signal that it drops leaves no trace.
func (in *ingestion) guard(ctx context.Context, r svc.Run) (svc.Outcome, error) {
	s := in.signal
	switch {
	case s.NoAttempt:
		return "", svc.Errorf(svc.CodeMissingAttempt, "attempt is required").With("current_attempt", r.Attempt)
	case s.Attempt > r.Attempt:
		return "", svc.Errorf(svc.CodeInvalidAttempt, "attempt %d is ahead of the run's attempt %d", s.Attempt, r.Attempt).
			With("signal_attempt", s.Attempt).With("current_attempt", r.Attempt)
	case s.Attempt < r.Attempt:
		return svc.DeadAttempt, nil // from any reporter: it changes nothing
	}
	if err := in.who.mayReport(&r, s.Attempt); err != nil {
		return "", err
	}
	switch {
	case r.Status == svc.RunPending:
		return svc.Superseded, nil // no host has this attempt, so no host can report for it
	case s.Kind == svc.SignalProgress:
		if s.Seq <= r.LastProgressSeq {
			return svc.StaleSeq, nil
		}
		return svc.Applied, nil
	}
	fresh, err := in.tx.TakeSignal(ctx, s)
	if err == nil && !fresh {
		return svc.Duplicate, nil
	}
	return svc.Applied, err
}

// ended reports whether the signal journaled the end of its attempt.
func (in *ingestion) ended() bool {
	return in.verdict.Topic == svc.TopicRunFinished || in.verdict.Topic == svc.TopicRunFailed
}

func (in *ingestion) journal(r *svc.Run) {
	if in.ended() && in.wrote {
		in.e.emitOutput(in.tx, r)
	}
	p := r.EventPayload()
	p["kind"], p["source"] = in.signal.Kind, in.signal.Source
	switch in.signal.Kind {
	case svc.SignalStarted:
		p["provider"], p["session_name"] = r.Provider, r.SessionName
		if in.signal.PID != nil {
			p["pid"] = *in.signal.PID
		}
	case svc.SignalFinished:
		p["exit_code"] = in.signal.ExitCode
		if in.signal.Reason != "" {
			p["reason"] = in.signal.Reason
		}
	case svc.SignalFailed:
		p["error"] = in.signal.Error
	case svc.SignalCompleted:
		p["result"], p["reason"] = in.signal.Result, r.ResultReason
		in.addConversation(p, r)
	case svc.SignalProgress:
		p["seq"], p["message"], p["percent"], p["needs_input"] = in.signal.Seq, in.signal.Message, in.signal.Percent, r.NeedsInput
		in.addConversation(p, r)
	}
	in.tx.Emit(in.verdict.Topic, p)
}

// addConversation adds the conversation to the payload if the signal reported one.
func (in *ingestion) addConversation(p map[string]any, r *svc.Run) {
	if in.signal.Conversation != "" {
		p["conversation"] = r.Conversation
	}
}

// markDone moves the run's own item to done, if the item asks for that and no person has moved it since the run was
// created.
func (in *ingestion) markDone(ctx context.Context, r svc.Run) error {
	if in.signal.Result == svc.ResultUserRejected {
		return nil
	}
	w, err := in.tx.WorkItem(ctx, r.TaskID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil // deleted since
	}
	if err != nil || !w.AutoMarkDone || w.ManualMarks != r.TaskManualMarks || w.Status == svc.ItemDone {
		return err
	}
	p, err := in.tx.LockProject(ctx, w.ProjectID)
	if err != nil || p.Status == svc.ProjectArchived || p.DoneWhen == svc.DoneLanded {
		return err
	}
	return doneBySignal(ctx, in.tx, w, r.ID, "")
}

// doneBySignal moves an item to done because of a run, or because its work was landed. by is the person who requested
// the landing.
func doneBySignal(ctx context.Context, tx *store.Tx, w svc.WorkItem, runID, by string) error {
	before := w
	w.Status, w.StatusSource, w.Confidence = svc.ItemDone, svc.SourceBySignal, nil
	if err := tx.UpdateWorkItem(ctx, &w); err != nil {
		return err
	}
	freed, err := itemMoved(ctx, tx, before, w)
	if err != nil {
		return err
	}
	p := itemEvent(w)
	p["old_status"], p["run_id"] = before.Status, runID
	if by != "" {
		p["by"] = by
	}
	tx.Emit(svc.TopicItemStatus, p)
	freed.emit(tx)
	return nil
}

// afterwards performs the effects of a signal, once it is durable.
func (in *ingestion) afterwards(ctx context.Context) {
	r := in.before
	if in.moved {
		in.e.runs.put(in.after)
	}
	stopped := in.signal.Kind == svc.SignalStarted && r.Status == svc.RunStopped && r.SessionOpen()
	if (in.verdict.EndSession || stopped) && r.HostID != nil {
		in.e.endSession(*r.HostID, r.ID, r.Attempt, "run is "+string(r.Status))
	}
	if !in.moved {
		return
	}
	if r.SessionEndedAt != nil {
		in.e.sessionOver(r)
	}
	if in.ended() {
		in.e.output.over(r.ID, r.Attempt)
	}
	if in.ended() || r.SessionEndedAt != nil || in.signal.Kind == svc.SignalCompleted { // a completed signal may meet a need
		in.e.claims.up()
	}
	if in.signal.Kind == svc.SignalCompleted || in.signal.Kind == svc.SignalProgress && r.NeedsInput {
		in.e.checkpointNow(ctx, r)
	}
	if in.signal.Kind == svc.SignalCompleted || in.signal.Submitted != "" || in.signal.Idle {
		in.e.messages.wake.up()
	}
	in.e.pushes.answered(r.ID, r.Attempt)
}

// attemptOver performs the effects of an attempt that the orchestrator itself has ended. The run may already be at
// the next attempt.
func (e *Engine) attemptOver(_ context.Context, r svc.Run, reason string) {
	e.runs.put(r)
	e.pushes.answered(r.ID, r.Attempt)
	if r.Status.Active() { // requeued: the ended attempt is the one before
		e.output.over(r.ID, r.Attempt-1)
		e.Hub.Relay.Ended(r.ID)
		e.Hub.Attach.RunEnded(r.ID, r.Attempt-1)
		e.claims.up()
		return
	}
	e.output.over(r.ID, r.Attempt)
	if r.SessionEndedAt != nil {
		e.sessionOver(r)
	} else if r.HostID != nil {
		e.endSession(*r.HostID, r.ID, r.Attempt, reason)
	}
	e.claims.up()
}

// sessionOver releases followers and viewers of an ended session.
func (e *Engine) sessionOver(r svc.Run) {
	e.Hub.Relay.Ended(r.ID)
	if err := e.Hub.Panes.Keep(r.ID); err != nil {
		e.Log.Warn("the last screen of a run cannot be kept", "run_id", r.ID, "error", err)
	}
	e.Hub.Attach.RunEnded(r.ID, r.Attempt)
}

// laterTurnEnd records the end of a turn after the attempt's first one. Only the first completed signal counts as the
// attempt's completion, but each one means that the agent waits for a prompt.
func (in *ingestion) laterTurnEnd(ctx context.Context, r svc.Run) error {
	if in.verdict.Outcome != svc.Duplicate || in.signal.Kind != svc.SignalCompleted || r.TurnOver || !r.Reachable() {
		return nil
	}
	r.TurnOver = true
	in.before, in.after, in.moved = r, r, true
	return in.tx.UpdateRun(ctx, &in.after)
}

// answered records that the run's question was answered.
func answered(tx *store.Tx, r *svc.Run) {
	r.NeedsInput = false
	p := r.EventPayload()
	p["kind"], p["source"], p["needs_input"] = "input", svc.FromUser, false
	tx.Emit(svc.TopicRunSignal, p)
}

// touched records that a person typed into a run: this answers the run's question, if it asked one.
func (e *Engine) touched(runID, by string) {
	ctx := svc.WithCaller(context.Background(), svc.Caller{Name: by})
	if r, err := e.live(ctx, runID); err != nil || !r.NeedsInput {
		return
	}
	var r svc.Run
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, runID); err != nil || !r.NeedsInput {
			return err
		}
		answered(tx, &r)
		return tx.UpdateRun(ctx, &r)
	}, store.RunRow(runID))
	if err != nil {
		e.Log.Error("input to a run that asked a question cannot be recorded", "run_id", runID, "error", err)
		return
	}
	e.runs.put(r)
}
