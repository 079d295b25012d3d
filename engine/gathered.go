package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// gathered answers questions about single records with reads of many: the questions that are asked while a read is in
// progress share the next one. So each answer is from after its question, a question alone does not wait, and
// thousands of hosts that arrive together cost few reads.
type gathered[V any] struct {
	read func(ctx context.Context, ids []string) (map[string]V, error)

	mu      sync.Mutex       // guards the rest
	reading bool             // a goroutine reads
	next    *gatheredRead[V] // nil: no question waits
}

type gatheredRead[V any] struct {
	ids  map[string]bool
	done chan struct{} // closed when found and err are set

	found map[string]V
	err   error
}

// gatheredLimit is how long a read may take. It does not depend on a single caller.
const gatheredLimit = 10 * time.Second

// ask returns the record with an id. found is false if there is none.
func (g *gathered[V]) ask(ctx context.Context, id string) (v V, found bool, err error) {
	r := g.join(id)
	select {
	case <-r.done:
		v, found = r.found[id]
		return v, found, r.err
	case <-ctx.Done():
		return v, false, ctx.Err()
	}
}

// join adds a question to the next read, and starts to read if nobody does.
func (g *gathered[V]) join(id string) *gatheredRead[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &gatheredRead[V]{ids: map[string]bool{}, done: make(chan struct{})}
	}
	g.next.ids[id] = true
	if !g.reading {
		g.reading = true
		go g.readAll()
	}
	return g.next
}

// readAll reads until no question waits.
func (g *gathered[V]) readAll() {
	for {
		r := g.take()
		if r == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), gatheredLimit)
		r.found, r.err = g.read(ctx, slices.Collect(maps.Keys(r.ids)))
		cancel()
		close(r.done)
	}
}

func (g *gathered[V]) take() *gatheredRead[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.next
	g.next, g.reading = nil, r != nil
	return r
}
