package hub

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc/wire"
)

// relayOpen is how many unused runs keep their file open.
const relayOpen = 256

// Relay stores the logs that workers relay, as byte streams in one file per attempt. Writes to a log are serialized.
// Each reader reads at its own pace; readers and writers never block each other.
//
// Data that Append has confirmed is written to the file. It survives a crash of the orchestrator, because the
// operating system has it. It is not synced, so a power failure may lose the last seconds. The worker's own file is
// the record, and after a loss the worker continues from the offset that is stored.
type Relay struct {
	// MostLog limits the stored log of one attempt, in bytes; 0: no limit. It is set before the relay is used.
	MostLog int64

	dir   relayDir
	quota *Quota
	files *fileReports // nil: changes are not reported
	log   *slog.Logger

	appended atomic.Int64 // bytes, since the process started

	mu   sync.Mutex // guards runs, idle and the users of each run; never held over I/O
	runs map[string]*runLog
	idle *list.List // of *runLog that are not in use, the least recently used first
}

// runLog is the state of a run whose log is written or followed.
type runLog struct {
	runID string
	users int           // guarded by Relay.mu
	idle  *list.Element // guarded by Relay.mu; nil while in use

	writing sync.Mutex // guards the next four, and orders the writes of this run
	file    *os.File   // the file of the attempt that was written last; nil: none is open
	attempt int
	end     logEnd
	times   keptTimes

	mu    sync.Mutex    // guards the fields below
	wake  chan struct{} // closed by notify; nil while no follower waits
	calls int           // how often notify(true) was called
}

// Appended is the result of storing a chunk.
type Appended struct {
	Offset int64 // the length of the stored log: everything before it is stored
	Bytes  int   // bytes of the chunk that were stored; 0 when it was refused
	Lines  int   // line ends in the stored bytes
	// Complete reports that nothing more is accepted: the log has its final length, or was cut at a limit.
	Complete bool
}

// NewRelay returns a Relay that stores logs below dir, which is created with the first log.
func NewRelay(dir string, log *slog.Logger) *Relay {
	return newRelayIn(dir, newQuota(dir), log)
}

// newRelayIn is NewRelay with a given quota.
func newRelayIn(dir string, quota *Quota, log *slog.Logger) *Relay {
	return &Relay{dir: relayDir(dir), quota: quota, log: log, runs: map[string]*runLog{}, idle: list.New()}
}

// Appended returns how many bytes were stored since the process started.
func (r *Relay) Appended() int64 { return r.appended.Load() }

// Append stores a chunk of an attempt's log from a host. A chunk with an offset is accepted only when the stored log
// ends exactly there; a repeated, overlapping or early chunk is refused, and the result has the offset at which the
// worker must continue. A chunk without an offset (from a plain peer) is always appended. A log that reaches a limit
// is cut: its last line states this, and nothing more is accepted. An error means that a write failed; the result
// includes what was written before it. The empty host is limited by MostLog alone. Of the times, those of stored
// bytes are stored.
func (r *Relay) Append(hostID, runID string, attempt int, offset *int64, data []byte, times ...wire.LogTime) (Appended, error) {
	if err := r.dir.check(runID); err != nil {
		return Appended{}, err
	}
	if attempt < 1 {
		return Appended{}, fmt.Errorf("append to log of run %s: %d is not an attempt", runID, attempt)
	}
	l := r.acquire(runID)
	defer r.release(l)
	got, err := r.append(l, hostID, attempt, offset, data, times)
	if got.Bytes > 0 || err != nil {
		r.files.wrote(r.dir.times(runID, attempt), r.dir.log(runID, attempt), r.dir.end(runID, attempt)) // times first: a copied log that lacks times never gets them
	}
	r.appended.Add(int64(got.Bytes))
	if got.Bytes > 0 || got.Complete {
		l.notify(false)
	}
	if err != nil {
		return got, fmt.Errorf("append to log of run %s, attempt %d: %w", runID, attempt, err)
	}
	return got, nil
}

func (r *Relay) append(l *runLog, hostID string, attempt int, offset *int64, data []byte, times []wire.LogTime) (Appended, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	size, err := l.open(r.dir, attempt)
	if err != nil {
		return Appended{}, err
	}
	if l.end.cut != "" || len(data) == 0 || offset != nil && *offset != size || r.quota.noSpace() {
		return Appended{Offset: size, Complete: l.end.whole(size)}, nil
	}
	room, by := r.room(hostID, size, int64(len(data)))
	if len(times) > 0 {
		r.keepTimes(l, hostID, size, size+room, times)
	}
	n, err := l.file.Write(data[:room])
	r.quota.add(hostID, int64(n)-room)
	if size += int64(n); int64(n) < room {
		l.times.close() // the times of bytes that were not written are removed when the file is opened again
	}
	if err == nil && room < int64(len(data)) {
		r.log.Warn("a log was cut at a limit", "run_id", l.runID, "attempt", attempt, "host_id", hostID, "bytes", size, "bound", string(by))
		err = l.cut(r.dir, size, by)
	}
	return Appended{Offset: size, Bytes: n, Lines: bytes.Count(data[:n], []byte("\n")), Complete: l.end.whole(size)}, err
}

// room returns how many of n bytes may be added to a log of this size, and reserves them in the host's quota. by is
// the limit that applied when it is less than n.
func (r *Relay) room(hostID string, size, n int64) (room int64, by cutBy) {
	if by = cutByHost; r.MostLog > 0 && n > r.MostLog-size {
		n, by = max(r.MostLog-size, 0), cutByAttempt
	}
	if room = r.quota.take(hostID, n); room < n {
		by = cutByHost
	}
	return room, by
}

// Finish stores the final length of an attempt's log, and returns how much of it is stored.
func (r *Relay) Finish(runID string, attempt int, length int64) (Appended, error) {
	if err := r.dir.check(runID); err != nil {
		return Appended{}, err
	}
	l := r.acquire(runID)
	defer r.release(l)
	got, err := r.finish(l, attempt, length)
	r.files.wrote(r.dir.log(runID, attempt), r.dir.end(runID, attempt))
	if err != nil {
		return got, fmt.Errorf("note the end of the log of run %s, attempt %d: %w", runID, attempt, err)
	}
	l.notify(true) // followers call Follow again
	return got, nil
}

func (r *Relay) finish(l *runLog, attempt int, length int64) (Appended, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	size, err := l.open(r.dir, attempt)
	if err != nil {
		return Appended{}, err
	}
	switch end := (logEnd{length: length}); {
	case l.end.cut != "" || l.end == end:
	case r.MostLog > 0 && size >= r.MostLog && size < length: // the rest will never be accepted
		err = l.cut(r.dir, size, cutByAttempt)
	default:
		if err = r.dir.writeEnd(l.runID, attempt, end); err == nil {
			l.end = end
		}
	}
	return Appended{Offset: size, Complete: l.end.whole(size)}, err
}

// open opens the file of the attempt, if it is not open, and returns the length of the stored log. One open file is
// enough, because attempts follow each other.
func (l *runLog) open(dir relayDir, attempt int) (size int64, err error) {
	if l.file == nil || l.attempt != attempt {
		if err := l.reopen(dir, attempt); err != nil {
			return 0, err
		}
	}
	if l.end.cut != "" {
		return l.end.length, l.writeNotice()
	}
	info, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (l *runLog) reopen(dir relayDir, attempt int) error {
	l.close()
	path := dir.log(l.runID, attempt)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	end, err := dir.readEnd(l.runID, attempt)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.attempt, l.end = f, attempt, end.at(info.Size())
	return nil
}

func (l *runLog) close() {
	l.times.close()
	if l.file != nil {
		_ = l.file.Close() // every write was checked; nothing is buffered
		l.file = nil
	}
}

// Ended notifies the followers that the run's session ended or that the run became final, so that they call Follow
// again. Call it after the change is visible to readers.
func (r *Relay) Ended(runID string) {
	r.mu.Lock()
	l := r.runs[runID]
	r.mu.Unlock()
	if l != nil {
		l.notify(true)
	}
}

// notify wakes the followers. ended makes them call Follow again.
func (l *runLog) notify(ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended {
		l.calls++
	}
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// news returns a channel that is closed at the next notify, and the present count of calls.
func (l *runLog) news() (<-chan struct{}, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake, l.calls
}

func (r *Relay) acquire(runID string) *runLog {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.runs[runID]
	if l == nil {
		l = &runLog{runID: runID}
		r.runs[runID] = l
	}
	l.users++
	if l.idle != nil {
		r.idle.Remove(l.idle)
		l.idle = nil
	}
	return l
}

func (r *Relay) release(l *runLog) {
	r.mu.Lock()
	var old *runLog
	l.users--
	if l.users == 0 {
		l.idle = r.idle.PushBack(l)
	}
	if r.idle.Len() > relayOpen {
		old = r.drop(r.idle.Front())
	}
	r.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// drop removes an unused run. The caller must close it.
func (r *Relay) drop(e *list.Element) *runLog {
	l := r.idle.Remove(e).(*runLog)
	delete(r.runs, l.runID)
	return l
}

// Close closes the open files of unused runs. Files in use stay open.
func (r *Relay) Close() {
	r.mu.Lock()
	var old []*runLog
	for e := r.idle.Front(); e != nil; e = r.idle.Front() {
		old = append(old, r.drop(e))
	}
	r.mu.Unlock()
	for _, l := range old {
		l.close()
	}
}

// Purge removes the logs that were last written before the given time, except those of live runs. It returns how many
// files it removed.
func (r *Relay) Purge(before time.Time, live func(runID string) bool) (int, error) {
	used := func(runID string) bool {
		r.mu.Lock()
		l := r.runs[runID]
		busy := l != nil && l.users > 0
		var old *runLog
		if l != nil && !busy {
			old = r.drop(l.idle) // otherwise a later write would go to the removed file
		}
		r.mu.Unlock()
		if old != nil {
			old.close()
		}
		return busy || live(runID)
	}
	isLog := func(name string) bool {
		return slices.Contains([]string{".log", ".end", timesSuffix}, filepath.Ext(name))
	}
	return r.dir.purge(before, used, isLog, r.files)
}

// Whole opens a log that is one file, for a reader that needs to seek: the log of the given attempt, or with attempt
// 0 that of the only attempt. It returns nil when there is no log or more than one; use Open then.
func (r *Relay) Whole(runID string, attempt int) (*os.File, error) {
	if r.dir.check(runID) != nil {
		return nil, nil //nolint:nilerr // what is no run id has no log
	}
	if attempt == 0 {
		attempts, err := r.dir.attempts(runID)
		if err != nil || len(attempts) != 1 {
			return nil, err
		}
		attempt = attempts[0]
	}
	f, err := os.Open(r.dir.log(runID, attempt))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log of run %s, attempt %d: %w", runID, attempt, err)
	}
	return f, nil
}
