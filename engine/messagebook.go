package engine

import (
	"sync"
	"time"
)

// messageBook is this process's state of message delivery. Everything that must survive a restart is in the message
// records.
type messageBook struct {
	wake *wake // a message may be deliverable

	mu     sync.Mutex // guards the rest
	busy   map[string]bool
	phases map[string]messagePhase
	work   sync.WaitGroup
}

// messagePhase is what a message waits for, and since when this process has observed it.
type messagePhase struct {
	name  string
	began time.Time
}

func newMessageBook() *messageBook {
	return &messageBook{wake: newWake(), busy: map[string]bool{}, phases: map[string]messagePhase{}}
}

// start runs a step of a message's delivery in its own goroutine. Until it ends, the sweep skips the message.
func (b *messageBook) start(id string, do func()) {
	b.mu.Lock()
	b.busy[id] = true
	b.mu.Unlock()
	b.work.Go(func() {
		defer b.wake.up()
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.busy, id)
		}()
		do()
	})
}

func (b *messageBook) underWay(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy[id]
}

// waited returns how long this process has observed a message waiting for the same thing, by the monotonic clock: a
// restart begins again at zero.
func (b *messageBook) waited(id, phase string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.phases[id]; p.name != phase {
		b.phases[id] = messagePhase{phase, now}
	}
	return now.Sub(b.phases[id].began)
}

// keep drops the phases of messages that are not in seen, the messages of a sweep.
func (b *messageBook) keep(seen map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.phases {
		if !seen[id] {
			delete(b.phases, id)
		}
	}
}
