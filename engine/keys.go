package engine

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// keysTimeout bounds the wait for a worker's answer.
const keysTimeout = 8 * time.Second

// keyBook matches a worker's answers with the requests that wait for them.
type keyBook struct {
	mu      sync.Mutex // guards the rest
	waiting map[string]keyRequest
	typing  map[string]chan struct{} // by idempotency key; closed when that request is done
}

type keyRequest struct {
	link   *hub.Uplink
	answer chan *wire.KeysResult // of size one; nil: the uplink is gone
}

func newKeyBook() *keyBook {
	return &keyBook{waiting: map[string]keyRequest{}, typing: map[string]chan struct{}{}}
}

// turn waits for the request under the same idempotency key that is not done
// yet: a retry must find its result. Others wait for nobody.
func (b *keyBook) turn(ctx context.Context, key string) (done func(), err error) {
	for {
		b.mu.Lock()
		before, busy := b.typing[key]
		if !busy {
			mine := make(chan struct{})
			b.typing[key] = mine
			b.mu.Unlock()
			return func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				delete(b.typing, key)
				close(mine)
			}, nil
		}
		b.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *keyBook) ask(id string, link *hub.Uplink) keyRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := keyRequest{link: link, answer: make(chan *wire.KeysResult, 1)}
	b.waiting[id] = r
	return r
}

func (b *keyBook) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

func (b *keyBook) answer(link *hub.Uplink, f *wire.KeysResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ok := b.waiting[f.RequestID]; ok && r.link == link {
		delete(b.waiting, f.RequestID)
		r.answer <- f
	}
}

// drop tells everyone who waits for a connection that is gone.
func (b *keyBook) drop(link *hub.Uplink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.waiting {
		if r.link == link {
			delete(b.waiting, id)
			r.answer <- nil
		}
	}
}

// SendKeys types into a run's session. The worker judges the keys.
func (e *Engine) SendKeys(ctx context.Context, runID string, keys []string) error {
	asked, repeatable := ctx.Value(idempotencyKey{}).(idempotency)
	if !repeatable {
		return e.sendKeys(ctx, runID, keys)
	}
	// Typing is no row, so the key is kept in a unit of its own, after it.
	leave, err := e.keys.turn(ctx, asked.key)
	if err != nil {
		return err
	}
	defer leave()
	var done, typed bool
	err = e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		typed, err = firstResult(ctx, tx, &done)
		return err
	})
	if err != nil || typed {
		return err
	}
	if err := e.sendKeys(ctx, runID, keys); err != nil {
		return err
	}
	return e.Store.Write(ctx, func(tx *store.Tx) error { return keepResult(ctx, tx, true) })
}

func (e *Engine) sendKeys(ctx context.Context, runID string, keys []string) error {
	r, err := e.Store.Run(ctx, runID)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return svc.Invalid("keys", "must have at least one element")
	}
	if r.Status != svc.RunRunning {
		return svc.Errorf(svc.CodeRunNotRunning, "the run is %s; keys can be sent only to a running one", r.Status).With("status", r.Status)
	}
	if _, held := e.Hub.Attach.Holder(runID); held {
		return svc.Errorf(svc.CodeLeaseHeld, "someone is attached to this run; ask them to detach first")
	}
	link, ok := e.Hub.Uplinks.Of(*r.HostID)
	if !ok {
		return svc.Errorf(svc.CodeHostNotConnected, "the run's host is not connected; try again when it is back")
	}
	if !link.Has(wire.CapKeys) {
		return svc.Errorf(svc.CodeCapabilityMissing, "the worker on the run's host cannot take keys; update it")
	}
	if err := e.askWorker(ctx, link, r, keys); err != nil {
		return err
	}
	e.touched(runID)
	return nil
}

func (e *Engine) askWorker(ctx context.Context, link *hub.Uplink, r svc.Run, keys []string) error {
	id := svc.NewID()
	request := e.keys.ask(id, link)
	defer e.keys.forget(id)
	gone := svc.Errorf(svc.CodeHostNotConnected, "the host went away before it answered; look at the screen before you try again")
	if link.Send(wire.Keys{RequestID: id, RunID: r.ID, Attempt: r.Attempt, Keys: keys}) != nil {
		return gone
	}
	timeout := time.NewTimer(keysTimeout)
	defer timeout.Stop()
	select {
	case answer := <-request.answer:
		switch {
		case answer == nil:
			return gone
		case !answer.OK:
			reason := answer.Error
			if reason == "" {
				reason = "the worker refused the keys"
			}
			return svc.Errorf(svc.CodeInvalidKeys, "%s", reason).With("fields", map[string]any{"keys": reason})
		}
		return nil
	case <-timeout.C:
		return svc.Errorf(svc.CodeUnavailable, "the host did not answer in time; look at the screen before you try again")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaseChanged journals who holds a run's keyboard.
func (e *Engine) leaseChanged(l hub.LeaseEvent) {
	ctx := context.Background()
	topic := svc.TopicRunLeaseReleased
	if l.Acquired {
		topic = svc.TopicRunLeaseAcquired
	}
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		r, err := tx.Run(ctx, l.RunID)
		if err != nil {
			return err
		}
		p := r.EventPayload()
		p["attempt"], p["timestamp"] = l.Attempt, l.At
		tx.Emit(topic, p)
		return nil
	})
	if err != nil {
		e.Log.Error("a lease cannot be journaled", "run_id", l.RunID, "error", err)
	}
}
