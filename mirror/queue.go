package mirror

import "slices"

// mostBulk bounds the files that wait after a comparison of the whole trees, and mostFresh those after a poll. What has no room comes with
// the next comparison.
const (
	mostBulk  = 300_000
	mostFresh = 2 * mostChanges
)

// queue is paths in the order in which they came, each once.
type queue struct {
	paths  []string
	queued map[string]bool
}

func newQueue() queue { return queue{queued: map[string]bool{}} }

func (q *queue) len() int    { return len(q.queued) }
func (q *queue) empty() bool { return len(q.queued) == 0 }

func (q *queue) push(path string) {
	if !q.queued[path] {
		if len(q.paths) > 2*len(q.queued)+1000 { // a listing may name and remove a file any number of times
			q.compact()
		}
		q.queued[path] = true
		q.paths = append(q.paths, path)
	}
}

// compact forgets the places of paths that were taken out. What is queued keeps its first place.
func (q *queue) compact() {
	seen := make(map[string]bool, len(q.queued))
	q.paths = slices.DeleteFunc(slices.Clone(q.paths), func(path string) bool {
		gone := !q.queued[path] || seen[path]
		seen[path] = true
		return gone
	})
}

// drop takes a path out, wherever it is.
func (q *queue) drop(path string) {
	delete(q.queued, path)
}

// pop takes the first path out. The queue is not empty.
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
