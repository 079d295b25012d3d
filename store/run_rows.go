package store

import (
	"slices"

	"svc"
)

const (
	mostRunRows    = 4096     // kept; past it any one goes
	largestRunRow  = 16 << 10 // bytes of what a caller chose; a larger run is read again
	runRowOverhead = 64       // of an argument or a variable
)

// runRows is the runs that the writer last read or wrote, as they are in the
// database. Nobody else writes to an SQLite file, so a run that moves through
// its states in quick succession need not be read for each. On PostgreSQL it is
// the runs that the transaction has locked. It belongs to the writer's
// goroutine.
type runRows struct{ rows map[string]knownRun }

// knownRun is a run and the one-shot signals that it had; nil: they are not known.
type knownRun struct {
	run     svc.Run
	signals map[signalKey]bool
}

type signalKey struct {
	attempt int
	kind    svc.SignalKind
}

func newRunRows() *runRows { return &runRows{rows: map[string]knownRun{}} }

func (c *runRows) get(id string) (svc.Run, bool) {
	r, ok := c.rows[id]
	return r.run, ok
}

// signals of a run; nil: they are not known.
func (c *runRows) signals(id string) map[signalKey]bool { return c.rows[id].signals }

// put takes a run that was just read. Its signals follow.
func (c *runRows) put(r svc.Run) { c.rows[r.ID] = knownRun{r, map[signalKey]bool{}} }

// took notes a signal of a run.
func (c *runRows) took(id string, k signalKey) {
	if known := c.signals(id); known != nil {
		known[k] = true
	}
}

// keep takes what a unit read and wrote. A run whose session has ended hardly
// changes any more.
func (c *runRows) keep(tx *Tx) {
	for id, r := range tx.runs {
		if !r.Status.Active() && r.SessionEndedAt != nil || chosenBytes(&r) > largestRunRow {
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
		c.took(s.RunID, signalKey{s.Attempt, s.Kind})
	}
}

// clear forgets everything: a group of units was undone.
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

// known is a run that this unit need not read.
func (tx *Tx) known(id string) (svc.Run, bool) {
	if r, ok := tx.runs[id]; ok {
		return r, true
	}
	return tx.w.rows.get(id)
}

// noteRun notes a run as it is in the database from here on.
func (tx *Tx) noteRun(r svc.Run) {
	if tx.runs == nil {
		tx.runs = map[string]svc.Run{}
	}
	tx.runs[r.ID] = r
}

// amend makes a small change of a run that is no change of the record: its
// version stays. It is false when the run is not known here.
func (tx *Tx) amend(id string, change func(*svc.Run)) bool {
	r, ok := tx.known(id)
	if ok {
		was := r
		change(&r)
		tx.noteRun(r)
		tx.changes.run(was, r)
	}
	return ok
}
