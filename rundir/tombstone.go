package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"svc"
	"svc/wire"
)

// Tombstone says that a run's attempts up to one are over on this host. It is what is left of them besides the log: it makes a late
// repetition of a dispatch start nothing, and from it the worker tells again how they ended, to an orchestrator that has lost what it knew.
type Tombstone struct {
	Attempt int     `json:"attempt"`
	Ends    []Ended `json:"ends,omitempty"` // oldest first; attempts of before this was kept are not in it
	// At is when the last of them was over; 0: a version that did not say.
	At svc.Time `json:"at,omitempty"`
	// Relayed: the orchestrator has acknowledged the whole log of all of them. False: not, or not known.
	Relayed bool `json:"relayed,omitempty"`
}

// Ended is how one attempt ended.
type Ended struct {
	Attempt int          `json:"attempt"`
	LogBase int64        `json:"log_base"`         // where in the run's log file it begins
	LogEnd  int64        `json:"log_end"`          // its length in bytes
	Signal  *wire.Signal `json:"signal,omitempty"` // what was reported; absent: not known
	Relayed bool         `json:"-"`                // the orchestrator has the whole log; the tombstone keeps it for all attempts together
}

// Of is how an attempt ended, if that is known.
func (t Tombstone) Of(attempt int) (Ended, bool) {
	for _, e := range t.Ends {
		if e.Attempt == attempt {
			return e, true
		}
	}
	return Ended{}, false
}

// TombstonePath is where a run's tombstone is: in one of 256 folders, since there is one for each run that this host ever had, up to
// [worker] log_days.
func (d Dir) TombstonePath(runID string) string {
	return filepath.Join(d.donePath(), runID[:2], runID)
}

// earlierTombstone is where earlier versions put it, beside the log.
func (d Dir) earlierTombstone(runID string) string { return filepath.Join(d.runs(), runID+".done") }

// Tombstone reads a run's tombstone; its zero value means that there is none.
func (d Dir) Tombstone(runID string) (t Tombstone, err error) {
	for _, path := range []string{d.TombstonePath(runID), d.earlierTombstone(runID)} {
		err = ReadRecord(path, &t)
		if !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
	}
	return Tombstone{}, nil
}

// WriteTombstone keeps a run's tombstone.
func (d Dir) WriteTombstone(runID string, t Tombstone) error {
	path := d.TombstonePath(runID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return diskError("make the folder of a tombstone", err)
	}
	if err := writeRecord(d.spool(), path, t); err != nil { // Sweep does not look through all tombstones
		return err
	}
	_ = os.Remove(d.earlierTombstone(runID)) // one that stays is read by nobody
	return nil
}

// Tombstones lists the runs that have a tombstone.
func (d Dir) Tombstones() (runs []string, err error) {
	shards, err := os.ReadDir(d.donePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, shard := range shards {
		entries, err := os.ReadDir(filepath.Join(d.donePath(), shard.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if svc.IsID(e.Name()) {
				runs = append(runs, e.Name())
			}
		}
	}
	return runs, nil
}
