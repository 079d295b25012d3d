package engine

import (
	"strings"
	"sync"

	"svc"
)

// maxHint limits a worker's hint, in bytes.
const maxHint = 500

// hintBook keeps the hints that workers send about unusual states of their runs. Hints are not stored in the
// database: a worker sends them again on each connection, and they are useless once the run is over.
type hintBook struct {
	mu    sync.Mutex // guards hints
	hints map[string]hint
}

type hint struct {
	attempt int
	text    string
}

func newHintBook() *hintBook { return &hintBook{hints: map[string]hint{}} }

func (b *hintBook) put(runID string, attempt int, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text == "" {
		delete(b.hints, runID)
		return
	}
	b.hints[runID] = hint{attempt, strings.ToValidUTF8(text[:min(len(text), maxHint)], "")}
}

// of returns the hint of a run. If the attempt is over, it drops the hint.
func (b *hintBook) of(r *svc.Run) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, known := b.hints[r.ID]
	if known && (h.attempt < r.Attempt || !r.Status.Active()) {
		delete(b.hints, r.ID)
		return "", false
	}
	return h.text, known && h.attempt == r.Attempt
}

// lookAt sets the hint of a run: the worker's hint, otherwise one that is derived from the record.
func (e *Engine) lookAt(r *svc.Run) {
	r.LookAt(e.now())
	if text, told := e.hints.of(r); told {
		r.Hint = &text
	}
}
