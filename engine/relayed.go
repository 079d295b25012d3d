package engine

import (
	"context"

	"svc"
	"svc/hub"
)

// hasRelayed refuses, for now, the end of an attempt if less of its log and last screen is here than the host has
// relayed. This happens when another orchestrator has acknowledged the rest and this one took over. The host then
// relays the rest on its connection to this one and reports the end again.
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

// endsAttempt reports whether a signal reports the end of an attempt.
func endsAttempt(s svc.Signal) bool {
	return s.Kind == svc.SignalFinished || s.Kind == svc.SignalFailed
}

// lengthAtEnd returns the length of an attempt's log when the attempt's end is reported; zero when it is not known.
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

// noteLength stores the log's length in the row when a session ends after its attempt, such as that of a stopped run.
// Output since the end of the attempt is not journaled, but with the length an orchestrator that takes over can
// detect that a part of its copy is missing.
func (in *ingestion) noteLength(r *svc.Run) {
	if r.SessionEndedAt != nil && !in.wrote && in.length.Bytes > r.OutputBytes {
		r.OutputBytes, r.OutputLines = in.length.Bytes, in.length.Lines
	}
}
