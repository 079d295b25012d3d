package store

import (
	"slices"

	"svc"
)

const (
	mostRunRows    = 4096     // the size of the cache; when it is full, any row is evicted
	largestRunRow  = 16 << 10 // bytes that the caller chose (see chosenBytes); a larger run is not cached
	runRowOverhead = 64       // bytes of memory for each argument or variable, besides its text
)

// runRows is a cache of the runs that the writer last read or wrote, as they are
// in the database. On SQLite there is no other writer: a run that changes its
// state several times in a row is read only once. On PostgreSQL the cache has
// only the runs that the transaction has locked. Only the writer's goroutine uses
// it. A cached run is never changed: a change puts another one in its place.
type runRows struct{ rows map[string]knownRun }

// knownRun is a cached run and its one-shot signals.
type knownRun struct {
	run     *svc.Run
	signals map[signalKey]bool // nil: they were not read
}

type signalKey struct {
	attempt int
	kind    svc.SignalKind
}

func newRunRows() *runRows { return &runRows{rows: map[string]knownRun{}} }

func (c *runRows) get(id string) (*svc.Run, bool) {
	r, ok := c.rows[id]
	return r.run, ok
}

// signals returns the signals of a run; nil: they are not cached.
func (c *runRows) signals(id string) map[signalKey]bool { return c.rows[id].signals }

// put adds a run that was just read. The caller must add its signals with addSignal.
func (c *runRows) put(r svc.Run) { c.rows[r.ID] = knownRun{&r, map[signalKey]bool{}} }

// addSignal adds a signal of a run, if its signals are cached.
func (c *runRows) addSignal(id string, k signalKey) {
	if known := c.signals(id); known != nil {
		known[k] = true
	}
}

// keep adds the runs and signals that a unit read and wrote. It drops runs whose
// session has ended, because they hardly change any more.
func (c *runRows) keep(tx *Tx) {
	for id, r := range tx.runs {
		if !r.Status.Active() && r.SessionEndedAt != nil || chosenBytes(r) > largestRunRow {
			delete(c.rows, id)
			continue
		}
		known, has := c.rows[id]
		if !has && len(c.rows) >= mostRunRows {
			for other := range c.rows {
				delete(c.rows, other)
				break
			}
		}
		if slices.Contains(tx.added, id) {
			known.signals = map[signalKey]bool{}
		}
		c.rows[id] = knownRun{r, known.signals}
	}
	for _, s := range tx.taken {
		c.addSignal(s.RunID, signalKey{s.Attempt, s.Kind})
	}
}

// clear empties the cache, after units were rolled back.
func (c *runRows) clear() { clear(c.rows) }

func chosenBytes(r *svc.Run) int {
	n := len(r.Prompt)
	for _, a := range r.Args {
		n += len(a) + runRowOverhead
	}
	for k, v := range r.Env {
		n += len(k) + len(v) + runRowOverhead
	}
	return n
}

// known returns a run that this unit need not read, because it is cached.
func (tx *Tx) known(id string) (*svc.Run, bool) {
	if r, ok := tx.runs[id]; ok {
		return r, true
	}
	return tx.w.rows.get(id)
}

// cacheRun caches a run as it is in the database from here on. It keeps the pointer.
func (tx *Tx) cacheRun(r *svc.Run) {
	if tx.runs == nil {
		tx.runs = map[string]*svc.Run{}
	}
	tx.runs[r.ID] = r
}

// changeCached changes a run without changing its version. It returns false, and does
// nothing, if the run is not cached.
func (tx *Tx) changeCached(id string, change func(*svc.Run)) bool {
	was, ok := tx.known(id)
	if ok {
		now := *was
		change(&now)
		tx.cacheRun(&now)
		tx.changes.run(was, &now)
	}
	return ok
}
