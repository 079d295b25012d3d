package engine

import (
	"context"

	"svc"
	"svc/hub"
)

// hasRelayed refuses an end for now that names more than is here of what was relayed before it. Another orchestrator has acknowledged it
// and this one took over; its host relays the rest on its connection to this one, and reports the end again.
func (e *Engine) hasRelayed(ctx context.Context, who Reporter, s svc.Signal) error {
	if !endsAttempt(s) || s.Claim || s.LogBytes == 0 && !s.LastScreen {
		return nil
	}
	r, err := e.live(ctx, s.RunID)
	if err != nil || s.Attempt != r.Attempt || who.mayReport(&r, s.Attempt) != nil {
		return nil //nolint:nilerr // whoever takes the signal says what is wrong
	}
	log, err := e.Hub.Relay.State(s.RunID, s.Attempt)
	if err != nil {
		return err
	}
	if log.Size < s.LogBytes && !log.Cut {
		return svc.Errorf(svc.CodeUnavailable, "the log of attempt %d of run %s has %d of %d bytes here; relay the rest and try again",
			s.Attempt, s.RunID, log.Size, s.LogBytes)
	}
	if !s.LastScreen {
		return nil
	}
	screen, has, err := e.Hub.Panes.Latest(s.RunID)
	if err != nil || !has || screen.Attempt < s.Attempt || screen.Attempt == s.Attempt && !screen.Final {
		return svc.Errorf(svc.CodeUnavailable, "the last screen of attempt %d of run %s is not here; relay it and try again", s.Attempt, s.RunID).Because(err)
	}
	return nil
}

// endsAttempt says whether a signal reports the end of an attempt.
func endsAttempt(s svc.Signal) bool {
	return s.Kind == svc.SignalFinished || s.Kind == svc.SignalFailed
}

// lengthAtEnd is how long the log is of an attempt whose end is reported; zero when that is not known.
func (e *Engine) lengthAtEnd(ctx context.Context, s svc.Signal) hub.LogLength {
	r, err := e.live(ctx, s.RunID)
	if err != nil || r.Attempt != s.Attempt {
		return hub.LogLength{}
	}
	length, err := e.Hub.Relay.Length(r.ID, r.Attempt, hub.LogLength{Bytes: max(r.OutputBytes, 0), Lines: r.OutputLines})
	if err != nil {
		e.Log.Error("the relayed log of a run cannot be read; its length is not kept", "run_id", r.ID, "error", err)
	}
	return length
}

// noteLength keeps in the row how long the log is at the end of a session that lived on after its attempt, as that of a stopped run. What it
// wrote since is not journaled, but an orchestrator that takes over with less of it must know that a part is missing.
func (in *ingestion) noteLength(r *svc.Run) {
	if r.SessionEndedAt != nil && !in.wrote && in.length.Bytes > r.OutputBytes {
		r.OutputBytes, r.OutputLines = in.length.Bytes, in.length.Lines
	}
}
