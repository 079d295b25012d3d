package engine

import (
	"context"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

const (
	messagePoll  = time.Second      // poll interval while messages are open
	messageIdle  = 30 * time.Second // poll interval while none is open
	messageBatch = 100              // runs whose next message is read at a time
	messageAway  = time.Minute      // how long a host may be away before a message to it is undelivered
	reportIn     = 10 * time.Second // time in which a hook reports a submitted message; after it, Enter is pressed once more
	reportAfter  = 5 * time.Second  // time in which it reports after that
)

// What a message is waiting for.
const (
	phaseHost   = "host"
	phaseReport = "report"
	phaseNudged = "nudged"
)

// deliverMessages delivers messages; those of one run one after the other. It sweeps the records, so a restart, a
// host that was away and a busy agent need no special handling.
func (e *Engine) deliverMessages(ctx context.Context) error {
	defer e.messages.work.Wait()
	for {
		open, err := e.sweepMessages(ctx)
		if err == nil {
			var prompts bool
			prompts, err = e.sweepPrompts(ctx)
			open = open || prompts
		}
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("messages cannot be delivered; trying again", "error", err)
		}
		again := time.NewTimer(messageIdle)
		if open || err != nil {
			again.Reset(messagePoll)
		}
		select {
		case <-e.messages.wake.c:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil
		}
		again.Stop()
	}
}

// sweepMessages advances every open message, and reports whether there are any.
func (e *Engine) sweepMessages(ctx context.Context) (open bool, err error) {
	seen := map[string]bool{}
	for after := ""; ; {
		found, err := e.Store.NextMessages(ctx, after, messageBatch)
		if err != nil {
			return true, err
		}
		for _, m := range found {
			seen[m.ID], after = true, m.RunID
			if e.messages.underWay(m.ID) {
				continue
			}
			if err := e.advance(ctx, m); err != nil {
				return true, err
			}
		}
		if len(found) < messageBatch {
			e.messages.keep(seen)
			return len(seen) > 0, nil
		}
	}
}

// advance takes the next step for the next message of a run, if one can be taken now.
func (e *Engine) advance(ctx context.Context, m svc.Message) error {
	r, err := e.live(ctx, m.RunID)
	if err != nil {
		return err
	}
	over := r.Attempt != m.Attempt || !r.Status.Active() && !r.Reachable()
	switch {
	case m.State == svc.MessageQueued && m.Asked: // an earlier process asked the host; its answer cannot arrive here
		return e.settleMessage(ctx, m, svc.MessageUnconfirmed, svc.MessageUnknown)
	case m.State == svc.MessageQueued && over:
		return e.settleMessage(ctx, m, svc.MessageUndelivered, svc.MessageRunEnded)
	case m.State == svc.MessageQueued:
		return e.tryPaste(ctx, r, m)
	case over:
		return e.settleMessage(ctx, m, svc.MessageUnconfirmed, svc.MessageRunEnded)
	default:
		return e.awaitSubmit(ctx, r, m)
	}
}

// tryPaste asks the run's host to paste a message, if the agent may receive it now.
func (e *Engine) tryPaste(ctx context.Context, r svc.Run, m svc.Message) error {
	if !r.Reachable() {
		return nil // the session starts soon
	}
	link, connected := e.Hub.Uplinks.Of(*r.HostID)
	if !connected {
		if e.messages.waited(m.ID, phaseHost, e.Now()) >= messageAway {
			return e.settleMessage(ctx, m, svc.MessageUndelivered, svc.MessageHostAway)
		}
		return nil
	}
	e.messages.waited(m.ID, "", e.Now())
	if !link.Has(wire.CapPaste) {
		return e.settleMessage(ctx, m, svc.MessageUndelivered, svc.MessageTakesNone)
	}
	report, known, err := providerOn(ctx, e.Store.Reader, &r)
	switch {
	case err != nil || !known:
		return err
	case report.Message != takesPaste:
		return e.settleMessage(ctx, m, svc.MessageUndelivered, svc.MessageTakesNone)
	case m.When == svc.MessageTurnEnd && !report.Turns:
		return e.settleMessage(ctx, m, svc.MessageUndelivered, svc.MessageNoTurns)
	case e.occupied(&r, m), m.When == svc.MessageTurnEnd && !r.TurnOver:
		return nil
	}
	return e.paste(ctx, link, m)
}

// occupied reports whether a person is typing into the session, or the agent has asked a question that the message is
// not the answer to.
func (e *Engine) occupied(r *svc.Run, m svc.Message) bool {
	_, held := e.Hub.Attach.Holder(r.ID)
	return held || r.Asks() && !m.Answer
}

// paste records that the host is asked, then asks it. The record prevents a second paste, even after a crash of this
// process.
func (e *Engine) paste(ctx context.Context, link *hub.Uplink, seen svc.Message) error {
	var wasOver bool
	done, err := e.changeMessage(ctx, seen, func(_ *store.Tx, r *svc.Run, m *svc.Message) bool {
		if r.Attempt != m.Attempt || !r.Reachable() || e.occupied(r, *m) || m.When == svc.MessageTurnEnd && !r.TurnOver {
			return false
		}
		wasOver = r.TurnOver
		// The paste begins a turn, and the end of that turn may be reported before the host's answer arrives.
		m.Asked, r.TurnOver = true, false
		return true
	})
	if err != nil || !done {
		return err
	}
	e.messages.start(seen.ID, func() {
		id := svc.NewID()
		answer, unsent := e.askTyped(ctx, link, id, wire.Paste{RequestID: id, RunID: seen.RunID, Attempt: seen.Attempt, Text: seen.Text})
		e.keepPasted(ctx, seen.ID, seen.RunID, func(tx *store.Tx, r *svc.Run, m *svc.Message) bool {
			switch {
			case m.State != svc.MessageQueued: // a hook reported it first
				return false
			case unsent != nil:
				m.Asked, r.TurnOver = false, r.TurnOver || wasOver
			case answer == nil || answer.Unknown:
				m.Settle(svc.MessageUnconfirmed, svc.MessageUnknown)
			case !answer.OK:
				e.Log.Warn("a worker could not paste a message", "run_id", r.ID, "message_id", m.ID, "error", answer.Error)
				m.Settle(svc.MessageUndelivered, svc.MessageRefused)
			default:
				m.State = svc.MessagePasted
				if r.NeedsInput {
					answered(tx, r)
				}
			}
			return true
		})
	})
	return nil
}

// keepPasted records the outcome of a paste, and retries until that succeeds. At a shutdown the record stays "asked",
// which is true.
func (e *Engine) keepPasted(ctx context.Context, id, runID string, change messageChange) {
	for {
		_, err := e.changeMessage(ctx, svc.Message{ID: id, RunID: runID}, change)
		if err == nil || ctx.Err() != nil {
			return
		}
		e.Log.Error("the outcome of a message cannot be recorded; trying again", "message_id", id, "error", err)
		select {
		case <-time.After(keysRetry):
		case <-ctx.Done():
			return
		}
	}
}

// awaitSubmit waits for a hook to report a pasted message. If none does, Enter is pressed once more: the first one
// may have arrived before the program was ready for it.
func (e *Engine) awaitSubmit(ctx context.Context, r svc.Run, m svc.Message) error {
	if m.Nudged {
		if e.messages.waited(m.ID, phaseNudged, e.Now()) < reportAfter {
			return nil
		}
		return e.settleMessage(ctx, m, svc.MessageUnconfirmed, svc.MessageNotReported)
	}
	if e.messages.waited(m.ID, phaseReport, e.Now()) < reportIn {
		return nil
	}
	done, err := e.changeMessage(ctx, m, func(_ *store.Tx, _ *svc.Run, m *svc.Message) bool { m.Nudged = true; return true })
	link, connected := e.Hub.Uplinks.Of(*r.HostID)
	_, held := e.Hub.Attach.Holder(r.ID)
	if err != nil || !done || !connected || held || r.Asks() { // an Enter would answer the question
		return err
	}
	e.messages.start(m.ID, func() {
		id := svc.NewID()
		_, _ = e.askTyped(ctx, link, id, wire.Keys{RequestID: id, RunID: r.ID, Attempt: r.Attempt, Keys: []string{"Enter"}})
	})
	return nil
}

func (e *Engine) settleMessage(ctx context.Context, seen svc.Message, state svc.MessageState, reason svc.MessageReason) error {
	_, err := e.changeMessage(ctx, seen, func(_ *store.Tx, _ *svc.Run, m *svc.Message) bool {
		m.Settle(state, reason)
		return true
	})
	return err
}

// messageChange changes a message and its run. It returns false if nothing needs to change.
type messageChange func(tx *store.Tx, r *svc.Run, m *svc.Message) bool

// changeMessage changes a message, unless its version differs from the seen one. A seen version of 0 matches any.
func (e *Engine) changeMessage(ctx context.Context, seen svc.Message, change messageChange) (done bool, err error) {
	var r svc.Run
	err = e.Store.WriteRepeatable(ctx, func(tx *store.Tx) (err error) {
		done = false
		if r, err = tx.LockRun(ctx, seen.RunID); err != nil {
			return err
		}
		m, err := tx.LockMessage(ctx, seen.ID)
		if err != nil || seen.Version != 0 && seen.Version != m.Version {
			return err
		}
		state, over, asks := m.State, r.TurnOver, r.NeedsInput
		if !change(tx, &r, &m) {
			return nil
		}
		done = true
		if r.TurnOver != over || r.NeedsInput != asks {
			if err := tx.UpdateRun(ctx, &r); err != nil {
				return err
			}
		}
		if m.State != state {
			return keepMessage(ctx, tx, &r, &m)
		}
		return tx.UpdateMessage(ctx, &m)
	}, store.RunRow(seen.RunID))
	if err == nil && done {
		e.runs.put(r)
	}
	return done, err
}
