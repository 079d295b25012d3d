package engine

import (
	"context"
	"sync"

	"svc"
	"svc/hub"
	"svc/wire"
)

// keyBook knows the requests to type that are under way, and matches the
// answers of workers with them.
type keyBook struct {
	owner string          // marks the reservations of this process
	ctx   context.Context //nolint:containedctx // of all that is under way: it outlives the requests
	stop  context.CancelFunc

	mu      sync.Mutex // guards the rest
	waiting map[string]keyRequest
	typing  map[string]*typing // by idempotency key
	busy    sync.WaitGroup
	stopped bool
}

// typing is a request to type that is under way.
type typing struct {
	fingerprint string
	done        chan struct{} // closed when err is what became of it
	once        sync.Once
	err         error
}

func (t *typing) settle(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.done)
	})
}

type keyRequest struct {
	link   *hub.Uplink
	answer chan *wire.KeysResult // of size one; nil: the uplink is gone
}

func newKeyBook() *keyBook {
	ctx, cancel := context.WithCancel(context.Background())
	return &keyBook{owner: svc.NewID(), ctx: ctx, stop: cancel, waiting: map[string]keyRequest{}, typing: map[string]*typing{}}
}

// run ends what is under way when ctx ends, and returns when all of it has
// ended.
func (b *keyBook) run(ctx context.Context) error {
	<-ctx.Done()
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.stop()
	b.busy.Wait()
	return nil
}

// begin gives the request under the same idempotency key that is under way, or
// a new one; then end must be called.
func (b *keyBook) begin(idem idempotency, repeatable bool) (t *typing, first bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return nil, false, svc.Errorf(svc.CodeUnavailable, "the orchestrator is shutting down; try again")
	}
	if repeatable {
		if t := b.typing[idem.key]; t != nil && t.fingerprint != idem.fingerprint {
			return nil, false, errKeyReused
		} else if t != nil {
			return t, false, nil
		}
	}
	t = &typing{fingerprint: idem.fingerprint, done: make(chan struct{})}
	if repeatable {
		b.typing[idem.key] = t
	}
	b.busy.Add(1)
	return t, true, nil
}

func (b *keyBook) end(idem idempotency, repeatable bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if repeatable {
		delete(b.typing, idem.key)
	}
	b.busy.Done()
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
