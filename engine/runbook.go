package engine

import (
	"context"
	"sync"

	"svc"
)

// runBook caches the runs that frames are about, so that a log chunk or a screen costs no query.
type runBook struct {
	mu   sync.Mutex // guards runs
	runs map[string]svc.Run
}

// runBookSize limits the cache; a dropped run is read again.
const runBookSize = 20_000

func newRunBook() *runBook { return &runBook{runs: map[string]svc.Run{}} }

// put stores a run as it was committed. An older version never replaces a newer one.
func (b *runBook) put(r svc.Run) {
	r.Prompt, r.Args, r.Env = "", nil, nil // large, and not needed here
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, has := b.runs[r.ID]; has && old.Version > r.Version {
		return
	}
	if len(b.runs) >= runBookSize {
		for id := range b.runs {
			delete(b.runs, id)
			break
		}
	}
	b.runs[r.ID] = r
}

func (b *runBook) get(id string) (svc.Run, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.runs[id]
	return r, ok
}

// live returns the run that a frame is about, from the cache or the database. It has no prompt, args and env.
func (e *Engine) live(ctx context.Context, id string) (svc.Run, error) {
	if r, ok := e.runs.get(id); ok {
		return r, nil
	}
	r, err := e.Store.Run(ctx, id)
	if err == nil {
		e.runs.put(r)
	}
	return r, err
}
