package engine

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

const (
	keysTimeout = 8 * time.Second // how long a caller waits for the outcome
	keysGiveUp  = time.Minute     // how long to wait for a worker's answer
	keysRetry   = time.Second     // between attempts to record the outcome
)

// SendKeys types into a run's session. The worker validates the keys.
//
// Keys that were sent cannot be taken back, so they are typed even if the caller stops waiting. Under an idempotency
// key the intent is durable before the frame is sent, and the outcome is recorded. A repeated request types nothing:
// it waits for the same outcome and returns it. If the outcome cannot be known, the result is outcome_unknown.
func (e *Engine) SendKeys(ctx context.Context, runID string, keys []string) error {
	t, err := e.typing(ctx, runID, keys)
	if err != nil {
		return err
	}
	timeout := time.NewTimer(keysTimeout)
	defer timeout.Stop()
	select {
	case <-t.done:
		return t.err
	case <-timeout.C:
		return svc.Errorf(svc.CodeOutcomeUnknown, "the host has not answered so far; look at the screen, or repeat the request with the same Idempotency-Key")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// typing begins a request to type, or joins the request in progress under the same idempotency key.
func (e *Engine) typing(ctx context.Context, runID string, keys []string) (*typing, error) {
	idem, repeatable := ctx.Value(idempotencyKey{}).(idempotency)
	t, first, err := e.keys.begin(idem, repeatable)
	if err != nil || !first {
		return t, err
	}
	work := e.keys.ctx
	if repeatable {
		work = WithIdempotency(work, idem.key, idem.fingerprint)
	}
	go func() {
		defer e.keys.end(idem, repeatable)
		if repeatable {
			e.typeOnce(work, idem, t, runID, keys)
			return
		}
		_, err := e.typeKeys(work, runID, keys)
		t.settle(err)
	}()
	return t, nil
}

// typeOnce types under a reserved key and records the outcome.
func (e *Engine) typeOnce(ctx context.Context, idem idempotency, t *typing, runID string, keys []string) {
	replayed, err := e.reserve(ctx, idem)
	if err != nil || replayed {
		t.settle(err)
		return
	}
	sent, err := e.typeKeys(ctx, runID, keys)
	for {
		kept := e.keepOutcome(ctx, idem, sent, err)
		t.settle(err) // waiting callers do not depend on the database
		if kept == nil || ctx.Err() != nil {
			return // at a shutdown the key stays reserved: its outcome is not recorded
		}
		e.Log.Error("the outcome of keys cannot be recorded; trying again", "run_id", runID, "error", kept)
		select {
		case <-time.After(keysRetry):
		case <-ctx.Done():
			return
		}
	}
}

// reserve records the intent. replayed means that the key was used before; err is then the stored result.
func (e *Engine) reserve(ctx context.Context, idem idempotency) (replayed bool, err error) {
	err = e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		first, found, err := keptKey(ctx, tx, idem)
		// A reservation of this process with no request in progress was never used: its commit was not confirmed.
		if err == nil && (!found || first.Owner == e.keys.owner) {
			return tx.ReserveKey(ctx, idem.key, idem.fingerprint, e.keys.owner)
		}
		if err == nil {
			var done bool
			replayed, err = firstResult(ctx, tx, &done)
		}
		return err
	}, store.KeyRow(idem.key))
	return replayed, err
}

// keepOutcome records the outcome. If the keys were not sent, it releases the key, so that the request may be
// repeated.
func (e *Engine) keepOutcome(ctx context.Context, idem idempotency, sent bool, outcome error) error {
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		if !sent {
			return tx.ReleaseKey(ctx, idem.key, e.keys.owner)
		}
		r := keptResult{Record: true}
		if known := refusalOf(outcome); known != nil {
			r = keptResult{Refusal: known}
		}
		return keep(ctx, tx, r)
	}, store.KeyRow(idem.key))
}

// typeKeys checks that keys can be sent to the run, and sends them to its worker.
func (e *Engine) typeKeys(ctx context.Context, runID string, keys []string) (sent bool, err error) {
	r, err := e.Store.Run(ctx, runID)
	if err != nil {
		return false, err
	}
	if len(keys) == 0 {
		return false, svc.Invalid("keys", "must have at least one element")
	}
	if !r.Reachable() {
		return false, svc.Errorf(svc.CodeRunNotRunning, "the run is %s; keys can be sent only to a running one", r.Status).With("status", r.Status)
	}
	if _, held := e.Hub.Attach.Holder(runID); held {
		return false, svc.Errorf(svc.CodeLeaseHeld, "someone is attached to this run; ask them to detach first")
	}
	link, ok := e.Hub.Uplinks.Of(*r.HostID)
	if !ok {
		return false, svc.Errorf(svc.CodeHostNotConnected, "the run's host is not connected; try again when it is back")
	}
	if !link.Has(wire.CapKeys) {
		return false, svc.Errorf(svc.CodeCapabilityMissing, "the worker on the run's host does not support keys; update it")
	}
	if slices.ContainsFunc(keys, wire.IsNamedKey) && !link.Has(wire.CapKeys2) {
		return false, svc.Errorf(svc.CodeCapabilityMissing, "the worker on the run's host would type the name of a key as text; update it")
	}
	if sent, err = e.askWorker(ctx, link, r, keys); err == nil {
		e.touched(runID, svc.CallerName(ctx))
	}
	return sent, err
}

// askWorker sends the keys and waits for the worker's answer. If they were sent and no answer arrives, the outcome is
// unknown.
func (e *Engine) askWorker(ctx context.Context, link *hub.Uplink, r svc.Run, keys []string) (sent bool, err error) {
	id := svc.NewID()
	answer, err := e.askTyped(ctx, link, id, wire.Keys{RequestID: id, RunID: r.ID, Attempt: r.Attempt, Keys: keys})
	switch {
	case err != nil:
		return false, svc.Errorf(svc.CodeHostNotConnected, "the run's host went away; try again when it is back").Because(err)
	case answer == nil:
		return true, errOutcomeUnknown
	case !answer.OK:
		reason := answer.Error
		if reason == "" {
			reason = "the worker refused the keys"
		}
		return true, svc.Errorf(svc.CodeInvalidKeys, "%s", reason).With("fields", map[string]any{"keys": reason})
	}
	return true, nil
}

// askTyped sends a worker a frame that types, and waits for the answer; nil: no answer arrived, so the outcome is
// unknown. An error means that the frame was not sent.
func (e *Engine) askTyped(ctx context.Context, link *hub.Uplink, id string, f wire.Frame) (*wire.KeysResult, error) {
	request := e.typed.ask(id, link)
	defer e.typed.forget(id)
	if err := link.Send(f); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(keysGiveUp)
	defer timeout.Stop()
	select {
	case answer := <-request.answer:
		return answer, nil
	case <-timeout.C:
		return nil, nil
	case <-ctx.Done():
		return nil, nil
	}
}
