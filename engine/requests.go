package engine

import (
	"sync"

	"svc/hub"
)

// requests matches the answers of workers, frames of type T, with the requests that were sent to them.
type requests[T any] struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]request[T]
}

type request[T any] struct {
	link   *hub.Uplink
	answer chan *T // buffered; receives nil when the uplink is closed
}

func newRequests[T any]() *requests[T] { return &requests[T]{waiting: map[string]request[T]{}} }

func (b *requests[T]) ask(id string, link *hub.Uplink) request[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := request[T]{link: link, answer: make(chan *T, 1)}
	b.waiting[id] = r
	return r
}

func (b *requests[T]) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

// answer delivers an answer to its request, once. It ignores answers from a connection that the request was not sent
// on.
func (b *requests[T]) answer(link *hub.Uplink, id string, f *T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ok := b.waiting[id]; ok && r.link == link {
		delete(b.waiting, id)
		r.answer <- f
	}
}

// drop ends all requests that wait for a connection that is closed.
func (b *requests[T]) drop(link *hub.Uplink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.waiting {
		if r.link == link {
			delete(b.waiting, id)
			r.answer <- nil
		}
	}
}
