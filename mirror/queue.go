package mirror

import "slices"

// mostBulk is the most files that are queued by a comparison of the whole trees, mostFresh the most that are queued
// by polls. If a queue is full, the next comparison finds the other files.
const (
	mostBulk  = 300_000
	mostFresh = 2 * mostChanges
)

// queue is a first-in, first-out queue of paths, each once.
type queue struct {
	paths  []string
	queued map[string]bool
}

func newQueue() queue { return queue{queued: map[string]bool{}} }

func (q *queue) len() int    { return len(q.queued) }
func (q *queue) empty() bool { return len(q.queued) == 0 }

func (q *queue) push(path string) {
	if !q.queued[path] {
		if len(q.paths) > 2*len(q.queued)+1000 { // one listing may name and remove the same file any number of times
			q.compact()
		}
		q.queued[path] = true
		q.paths = append(q.paths, path)
	}
}

// compact deletes the entries of paths that were dropped. A queued path keeps its first place.
func (q *queue) compact() {
	seen := make(map[string]bool, len(q.queued))
	q.paths = slices.DeleteFunc(slices.Clone(q.paths), func(path string) bool {
		gone := !q.queued[path] || seen[path]
		seen[path] = true
		return gone
	})
}

// drop removes a path, if it is queued.
func (q *queue) drop(path string) {
	delete(q.queued, path)
}

// pop removes and returns the first path. The queue must not be empty.
func (q *queue) pop() string {
	for {
		path := q.paths[0]
		q.paths = q.paths[1:]
		if q.queued[path] {
			delete(q.queued, path)
			return path
		}
	}
}
