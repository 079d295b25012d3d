package worker

import (
	"sync"

	"svc/wire"
)

// mostKeysKept bounds how many requests for keys a worker remembers.
const mostKeysKept = 1024

// keysOnce remembers the latest requests for keys, so that a repeated request is answered but not typed again.
type keysOnce struct {
	mu       sync.Mutex // guards the fields below
	requests map[string]*keysRequest
	order    []string // of the requests, the oldest first
}

type keysRequest struct {
	result  *wire.KeysResult // nil: it is under way
	waiting []*link          // the connections that get the result
}

// begin records a request and returns true when it is new. For a repeated request it returns false, and the
// connection gets the result now or when the first one has ended.
func (k *keysOnce) begin(id string, l *link) bool {
	k.mu.Lock()
	r := k.requests[id]
	if r == nil {
		if k.requests == nil {
			k.requests = map[string]*keysRequest{}
		}
		if len(k.order) >= mostKeysKept {
			delete(k.requests, k.order[0])
			k.order = k.order[1:]
		}
		k.requests[id] = &keysRequest{waiting: []*link{l}}
		k.order = append(k.order, id)
		k.mu.Unlock()
		return true
	}
	result := r.result
	if result == nil {
		r.waiting = append(r.waiting, l)
	}
	k.mu.Unlock()
	if result != nil {
		l.out.push(laneControl, result, nil)
	}
	return false
}

// end stores the result of a request and sends it to every connection that waits for it.
func (k *keysOnce) end(result *wire.KeysResult, l *link) {
	links := []*link{l}
	k.mu.Lock()
	if r := k.requests[result.RequestID]; r != nil { // nil: it was evicted as one of the oldest
		links = r.waiting
		r.result, r.waiting = result, nil
	}
	k.mu.Unlock()
	for _, l := range links {
		l.out.push(laneControl, result, nil)
	}
}
