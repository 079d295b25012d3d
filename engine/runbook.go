package engine

import (
	"context"
	"sync"

	"svc"
)

// runBook remembers what frames need to know of a run, so that a log chunk or a
// screen costs no query.
type runBook struct {
	mu   sync.Mutex // guards runs
	runs map[string]svc.Run
}

// runBookSize bounds the memory; what is dropped is read again.
const runBookSize = 20_000

func newRunBook() *runBook { return &runBook{runs: map[string]svc.Run{}} }

// put notes a run as it was committed. An older version never replaces a newer
// one.
func (b *runBook) put(r svc.Run) {
	r.Prompt, r.Args, r.Env = "", nil, nil // large, and nobody asks for them here
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

// live is the run that a frame is about.
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
