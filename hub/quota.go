package hub

import (
	"maps"
	"sync"
	"time"

	"svc/atomicfile"
)

// Quota bounds what hosts can make the orchestrator keep on its disk, logs and checkpoints together: whoever writes them,
// the disk is ours. What is not taken stays on its host.
type Quota struct {
	// MostHost is how much is kept of one host, in bytes; 0: everything.
	MostHost int64
	// MinFree is how much of the disk stays free, in bytes; 0: nothing. Below it nothing is taken, until there is room again.
	MinFree int64

	dir string

	mu    sync.Mutex       // guards what follows
	at    time.Time        // when the disk was last asked
	tight bool             // there was no room then
	used  map[string]int64 // bytes, by host
	since map[string]int64 // what came and went since a measurement began; nil: none is under way
}

func newQuota(dir string) *Quota { return &Quota{dir: dir, used: map[string]int64{}} }

// noSpace reports whether the disk has less free than must stay. It is asked once a second.
func (q *Quota) noSpace() bool {
	if q.MinFree <= 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) < time.Second {
		return q.tight
	}
	if free, err := atomicfile.DiskFree(q.dir); err == nil { // else the write says what is wrong
		q.tight = free < uint64(q.MinFree)
	}
	q.at = time.Now()
	return q.tight
}

// take counts n more bytes for a host, or as many as it may still have, and answers how many. What is then not written
// is given back by add. The empty host has no bound.
func (q *Quota) take(hostID string, n int64) int64 {
	if hostID == "" {
		return n
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.MostHost > 0 {
		n = min(n, max(q.MostHost-q.used[hostID], 0))
	}
	q.change(hostID, n)
	return n
}

// add counts bytes that came, or with a negative number went.
func (q *Quota) add(hostID string, n int64) {
	if hostID == "" || n == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.change(hostID, n)
}

func (q *Quota) change(hostID string, n int64) {
	q.used[hostID] += n
	if q.since != nil {
		q.since[hostID] += n
	}
}

// Used is how much is kept of a host, in bytes.
func (q *Quota) Used(hostID string) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used[hostID]
}

// Measure replaces what was counted by what is there. What comes meanwhile may be counted twice, until the next
// measurement; it is never left out. One runs at a time.
func (q *Quota) Measure(read func() (map[string]int64, error)) error {
	q.mu.Lock()
	q.since = map[string]int64{}
	q.mu.Unlock()
	found, err := read()
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.used = maps.Clone(found)
		for hostID, n := range q.since {
			q.used[hostID] += max(n, 0)
		}
	}
	q.since = nil
	return err
}
