package hub

import (
	"maps"
	"sync"
	"time"

	"svc/atomicfile"
)

// Quota limits how much of the orchestrator's disk the logs and checkpoints of hosts may use. Data that is refused
// stays on its host.
type Quota struct {
	// MostHost is the maximum that is stored for one host, in bytes; 0: no limit.
	MostHost int64
	// MinFree is the disk space that must stay free, in bytes; 0: none. With less free space all data is refused.
	MinFree int64

	dir string

	mu    sync.Mutex       // guards what follows
	at    time.Time        // when the free space was last read
	tight bool             // there was too little space at that time
	used  map[string]int64 // bytes, by host
	since map[string]int64 // changes since a measurement began; nil: none is under way
}

func newQuota(dir string) *Quota { return &Quota{dir: dir, used: map[string]int64{}} }

// noSpace reports whether the disk has less than MinFree free. It reads the free space at most once a second.
func (q *Quota) noSpace() bool {
	if q.MinFree <= 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) < time.Second {
		return q.tight
	}
	if free, err := atomicfile.DiskFree(q.dir); err == nil { // on an error the write itself reports the problem
		q.tight = free < uint64(q.MinFree)
	}
	q.at = time.Now()
	return q.tight
}

// take reserves up to n bytes for a host and returns how many the quota allows. The caller must return bytes that it
// does not write, with a negative add. The empty host has no limit.
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

// add adds n bytes to a host's usage; a negative n subtracts them.
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

// Used returns how much is stored for a host, in bytes.
func (q *Quota) Used(hostID string) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used[hostID]
}

// Measure replaces the counted usage by a measurement. Data that is added during the measurement may be counted twice
// until the next one, but is never missed. Only one measurement may run at a time.
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
