package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"svc"
	"svc/wire"
)

// Tombstone records that a run's attempts up to Attempt are over on this host. It stays besides the log. With
// it, a repeated dispatch starts nothing, and the worker can report again how the attempts ended, to an
// orchestrator that has lost its data.
type Tombstone struct {
	Attempt int     `json:"attempt"`
	Ends    []Ended `json:"ends,omitempty"` // oldest first; without the attempts of versions that did not record ends
	// At is when the last of them ended; 0: an earlier version did not record it.
	At svc.Time `json:"at,omitempty"`
	// Relayed is true when the orchestrator has acknowledged the whole log of all of them. False: it has not,
	// or that is unknown.
	Relayed bool `json:"relayed,omitempty"`
}

// Ended is how one attempt ended.
type Ended struct {
	Attempt int          `json:"attempt"`
	LogBase int64        `json:"log_base"`         // its first byte in the run's log file
	LogEnd  int64        `json:"log_end"`          // its length in bytes
	Signal  *wire.Signal `json:"signal,omitempty"` // the signal that reported it; absent: unknown
	Relayed bool         `json:"-"`                // the orchestrator has the whole log; the tombstone stores it for all attempts together
}

// Of returns how an attempt ended, if that is known.
func (t Tombstone) Of(attempt int) (Ended, bool) {
	for _, e := range t.Ends {
		if e.Attempt == attempt {
			return e, true
		}
	}
	return Ended{}, false
}

// TombstonePath returns the path of a run's tombstone. It is in one of 256 folders, since there is a tombstone
// for each run that this host had in the last [worker] log_days.
func (d Dir) TombstonePath(runID string) string {
	return filepath.Join(d.donePath(), runID[:2], runID)
}

// earlierTombstone returns the path that earlier versions used, beside the log.
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

// WriteTombstone writes a run's tombstone.
func (d Dir) WriteTombstone(runID string, t Tombstone) error {
	path := d.TombstonePath(runID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return diskError("make the folder of a tombstone", err)
	}
	if err := writeRecord(d.spool(), path, t); err != nil { // the temporary file is in the spool, because Sweep does not search the tombstones
		return err
	}
	_ = os.Remove(d.earlierTombstone(runID)) // if it stays it is never read again
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
