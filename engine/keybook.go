package engine

import (
	"context"
	"sync"

	"svc"
)

// keyBook tracks the requests to type that are in progress.
type keyBook struct {
	owner string          // identifies this process in its reservations
	ctx   context.Context //nolint:containedctx // of all that is under way: it outlives the requests
	stop  context.CancelFunc

	mu      sync.Mutex         // guards the rest
	typing  map[string]*typing // by idempotency key
	busy    sync.WaitGroup
	stopped bool
}

// typing is a request to type that is in progress.
type typing struct {
	fingerprint string
	done        chan struct{} // closed when err is set
	once        sync.Once
	err         error
}

func (t *typing) settle(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.done)
	})
}

func newKeyBook() *keyBook {
	ctx, cancel := context.WithCancel(context.Background())
	return &keyBook{owner: svc.NewID(), ctx: ctx, stop: cancel, typing: map[string]*typing{}}
}

// run cancels the requests in progress when ctx ends, and returns when all of them have ended.
func (b *keyBook) run(ctx context.Context) error {
	<-ctx.Done()
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.stop()
	b.busy.Wait()
	return nil
}

// begin returns the request in progress under the same idempotency key, or a new one (first). The caller must call
// end for a new one.
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
