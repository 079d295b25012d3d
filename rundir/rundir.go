// Package rundir is what a worker and the wrappers of its sessions share on their host's disk.
//
// Below the data directory:
//
//	worker.lock                    held by the worker while it lives
//	runs/<run_id>.log              the log of record: raw bytes, all attempts of this host
//	runs/<run_id>.<attempt>.times  when the bytes of the log were written, one attempt's; stays with the log
//	runs/<run_id>.<attempt>.screen the last screen of an attempt that is over; stays with the log
//	runs/done/<2 hex>/<run_id>     the tombstone of a run that is over here: what is left of it besides its log
//	runs/conversations/<id>        a file of this conversation of a tool's was seen
//	runs/<run_id>.<attempt>/       one attempt, for the owner alone:
//	    dispatch                   what the worker was given, and what it made of it
//	    try                        how often the attempt was tried to be started
//	    launch-<try>               what the wrapper shall start; removed when it was read
//	    launch-<try>.taker         which process took it; .revoked in its place: nobody may take it any more
//	    view                       how its screen is shown
//	    sink                       what the log's writer could not write
//	    restore                    a checkpoint that its working copy begins with
//	    wrapper                    which processes the attempt consists of
//	    reserve.exit, .finished    disk space kept for the words about the end
//	    exit                       how it ended; this record decides
//	    end                        the final length of its log
//	    screen                     its last screen, until the attempt is cleared away
//	    leftovers                  processes that outlived the provider and were ended by the wrapper
//	    session/                   all that the session itself needs, and all that a contained one sees:
//	        prompt                 the prompt as plain text
//	        hooks/                 the provider's hook configuration
//	        spool/                 what the session reports, one file for each signal, until it is delivered
//	        bin/                   first in the session's PATH: svc as the worker runs it
//	        counter                numbers the attempt's signals
//	        hook-failed, codex-thread, conversation   what hooks remember for the next one, and for the wrapper
//	spool/                         the worker's own signals that are not yet delivered, one file each
//	spool/bad/                     what was found damaged in a spool, or refused
//	quarantine/                    folders of attempts whose dispatch was damaged, after their end
//
// Both sides may die at any moment, also by a power cut, and the disk may be full. So every record
// is written beside its place, synced and renamed, and carries its length and checksum: a reader
// gets the old text, the new text or ErrCorrupt, never a part.
//
// # What is whose
//
// A session is told its folder within the attempt and nothing else. What it reports goes into the spool there,
// which is that attempt's alone, and carries the run's token: the worker delivers it with that token, and
// reports with its own only what it has seen itself, the beginning and the end. The records that the worker
// relies on, the processes and the end, are beside that folder, where a contained session cannot write. A session
// that is not contained can write to all of the attempt and to its log, so the worker opens neither links nor
// anything but regular files there, and waits for nothing in them (OpenOwn).
//
// # Who delivers a signal
//
// A signal is in the spool before anything else happens to it. While a worker lives (WorkerAlive) it
// delivers started and finished, because only it can hold finished back until the log before it
// was relayed. Without one, the wrapper posts them itself. What a hook reports goes out at once.
// An entry is removed by whoever delivered it; two may deliver the same one, and the orchestrator
// drops the second.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"svc"
)

// Dir is a data directory, seen as the place of runs.
type Dir string

// Open makes runs and spool below the data directory where they are missing, for the owner alone.
func Open(dataDir string) (Dir, error) {
	d := Dir(dataDir)
	for _, path := range []string{d.runs(), d.spool(), d.bad()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return d, diskError("open run directory", err)
		}
	}
	return d, nil
}

func (d Dir) runs() string  { return filepath.Join(string(d), "runs") }
func (d Dir) spool() string { return d.SpoolPath() }
func (d Dir) bad() string   { return filepath.Join(d.SpoolPath(), "bad") }

// SpoolPath is where the worker's own signals wait, and those of sessions that an earlier version
// started. A new one appears by a rename.
func (d Dir) SpoolPath() string { return filepath.Join(string(d), "spool") }

// LogPath is the run's log of record.
func (d Dir) LogPath(runID string) string { return filepath.Join(d.runs(), runID+".log") }

// TimesPath is where it is noted when the bytes of an attempt's log were written.
func (d Dir) TimesPath(runID string, attempt int) string {
	return d.Attempt(runID, attempt).Path() + ".times"
}

// ScreenPath is where the last screen of an attempt is when the attempt is cleared away.
func (d Dir) ScreenPath(runID string, attempt int) string {
	return d.Attempt(runID, attempt).Path() + ".screen"
}

// donePath is the folder of the tombstones.
func (d Dir) donePath() string { return filepath.Join(d.runs(), "done") }

// Attempt is the folder of one attempt. It need not exist.
func (d Dir) Attempt(runID string, number int) Attempt {
	return Attempt{Dir: d, RunID: runID, Number: number}
}

// Attempts lists the folders there are, by run and attempt. Names of other forms are not ours and
// are left out.
func (d Dir) Attempts() ([]Attempt, error) {
	entries, err := os.ReadDir(d.runs())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	var found []Attempt
	for _, e := range entries {
		runID, number, ok := splitAttempt(e.Name())
		if ok && e.IsDir() {
			found = append(found, d.Attempt(runID, number))
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.RunID != b.RunID {
			return a.RunID < b.RunID
		}
		return a.Number < b.Number
	})
	return found, nil
}

// splitAttempt reads "<run_id>.<attempt>".
func splitAttempt(name string) (runID string, number int, ok bool) {
	runID, digits, _ := strings.Cut(name, ".")
	number, err := strconv.Atoi(digits)
	ok = err == nil && number >= 1 && svc.IsID(runID) && strconv.Itoa(number) == digits
	return runID, number, ok
}
