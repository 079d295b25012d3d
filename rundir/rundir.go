// Package rundir is what a worker and the wrappers of its sessions share on their host's disk.
//
// Below the data directory:
//
//	worker.lock                    held by the worker while it runs
//	runs/<run_id>.log              the log of record: raw bytes, all attempts of this host
//	runs/<run_id>.<attempt>.times  when the bytes of the log were written, one attempt's; stays with the log
//	runs/<run_id>.<attempt>.screen the last screen of an attempt that is over; stays with the log
//	runs/done/<2 hex>/<run_id>     the tombstone of a run that is over on this host: how its attempts ended
//	runs/conversations/<id>        exists if a tool's file of this conversation was seen
//	runs/<run_id>.<attempt>/       one attempt, accessible to the owner only:
//	    dispatch                   the run as it was dispatched, and the worker's notes
//	    try                        the number of tries to start the attempt
//	    launch-<try>               what the wrapper has to start; removed when it was read
//	    launch-<try>.taker         which process took it; .revoked in place of the launch file: it can no longer be taken
//	    view                       how its screen is shown
//	    sink                       why the log's writer cannot write
//	    restore                    a checkpoint from which its working copy starts
//	    wrapper                    which processes the attempt consists of
//	    reserve.exit, .finished    disk space for the records of the end
//	    exit                       how it ended; this record decides
//	    end                        the final length of its log
//	    screen                     its last screen, until the attempt's folder is removed
//	    leftovers                  processes that outlived the provider and were ended by the wrapper
//	    session/                   all that the session itself needs, and all that a contained one sees:
//	        prompt                 the prompt as plain text
//	        hooks/                 the provider's hook configuration
//	        spool/                 what the session reports, one file for each signal, until it is delivered
//	        bin/                   first in the session's PATH: svc as the worker runs it
//	        counter                numbers the attempt's signals
//	        hook-failed, codex-thread, conversation   values that hooks store for later hooks and the wrapper
//	spool/                         the worker's own signals that are not yet delivered, one file each
//	spool/bad/                     signals that were damaged, or refused for good
//	quarantine/                    folders of attempts whose dispatch was damaged, after their end
//
// Worker and wrapper may be killed at any moment, also by a power cut, and the disk may be full. So every record
// is written to a temporary file, synced and renamed, and carries its length and checksum: a reader gets the old
// content, the new content or ErrCorrupt, never a part.
//
// # What a session can access
//
// A session gets the path of its folder within the attempt and no other path. Its signals go into the spool
// there, which has only that attempt's signals, and carry the run's token. The worker delivers them with that
// token; with its own token it reports only what it has verified itself, the start and the end. The records that
// the worker relies on, those of the processes and of the end, are beside that folder, where a contained session
// cannot write. A session that is not contained can write to the whole attempt and to its log. So the worker
// opens only regular files there, follows no links and never blocks on them (OpenOwn).
//
// # Who delivers a signal
//
// Every signal is written to the spool first. While a worker runs (WorkerAlive) it delivers started and finished,
// because only it can hold finished back until the log was relayed. Without a worker, the wrapper posts them
// itself. Signals of hooks are posted at once. The process that has delivered an entry removes it. Two processes
// may deliver the same entry; the orchestrator then drops the second one.
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

// Dir is a data directory with the runs of a worker.
type Dir string

// Open makes the folders for runs and signals below the data directory if they are missing, accessible to the
// owner only.
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

// SpoolPath returns the spool of the worker's own signals, and of sessions that an earlier version started. A
// new signal appears by a rename.
func (d Dir) SpoolPath() string { return filepath.Join(string(d), "spool") }

// LogPath returns the path of the run's log of record.
func (d Dir) LogPath(runID string) string { return filepath.Join(d.runs(), runID+".log") }

// TimesPath returns the file that records when the bytes of an attempt's log were written.
func (d Dir) TimesPath(runID string, attempt int) string {
	return d.Attempt(runID, attempt).Path() + ".times"
}

// ScreenPath returns the path of the last screen of an attempt whose folder was removed.
func (d Dir) ScreenPath(runID string, attempt int) string {
	return d.Attempt(runID, attempt).Path() + ".screen"
}

// donePath returns the folder of the tombstones.
func (d Dir) donePath() string { return filepath.Join(d.runs(), "done") }

// Attempt returns the folder of one attempt. It need not exist.
func (d Dir) Attempt(runID string, number int) Attempt {
	return Attempt{Dir: d, RunID: runID, Number: number}
}

// Attempts lists the existing attempt folders, by run and attempt. It ignores all other names.
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
