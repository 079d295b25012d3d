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

// relayOpen is how many runs that nobody works with keep their file open.
const relayOpen = 256

// Relay keeps the logs that workers relay, as byte streams in one file per
// attempt. A log is appended by one write at a time and read at the pace of
// each reader; the two never wait for each other.
//
// What Append has answered has been written to the file. It survives a kill of
// the orchestrator, since the system holds it then; it is not synced, so a loss
// of power may take the last seconds. The worker's own file stays the record,
// and the worker goes on from the offset that is really there.
type Relay struct {
	// MostLog is how much of one attempt's log is kept, in bytes; 0: all. It is set before the relay is used.
	MostLog int64

	dir   relayDir
	quota *Quota
	files *fileReports // nil: nobody is told
	log   *slog.Logger

	appended atomic.Int64 // bytes, since the process began

	mu   sync.Mutex // guards runs, idle and the users of each; never held over I/O
	runs map[string]*runLog
	idle *list.List // of *runLog that nobody uses, the longest unused first
}

// runLog is the state of a run whose log is written or followed.
type runLog struct {
	runID string
	users int           // guarded by Relay.mu
	idle  *list.Element // guarded by Relay.mu; nil while in use

	writing sync.Mutex // guards the next four, and orders the writes of this run
	file    *os.File   // the attempt that was written last; nil: none open
	attempt int
	end     logEnd
	times   keptTimes

	mu    sync.Mutex    // guards what follows
	wake  chan struct{} // closed when there is news; nil while nobody waits
	calls int           // how often Ended was announced
}

// Appended tells what became of a chunk.
type Appended struct {
	Offset int64 // where the log stands now: everything before it is kept
	Bytes  int   // how much of the chunk was taken; 0 when it was refused
	Lines  int   // line ends in what was taken
	// Complete says that nothing more is taken: the log has the length that it has in the end, or was cut at a bound.
	Complete bool
}

// NewRelay keeps logs below dir, which is made with the first one.
func NewRelay(dir string, log *slog.Logger) *Relay {
	return newRelayIn(dir, newQuota(dir), log)
}

// newRelayIn counts what it keeps on a quota.
func newRelayIn(dir string, quota *Quota, log *slog.Logger) *Relay {
	return &Relay{dir: relayDir(dir), quota: quota, log: log, runs: map[string]*runLog{}, idle: list.New()}
}

// Appended is how many bytes were taken since the process began.
func (r *Relay) Appended() int64 { return r.appended.Load() }

// Append takes a chunk of an attempt's log from a host. With an offset it is taken only
// when the log stands exactly there; a repeated, overlapping or early chunk is
// refused, and the answer says where to go on. Without an offset (a plain peer)
// it is appended. A log that reaches a bound is cut: its last line says so, and nothing more is taken.
// An error means that the disk refused; what was written before
// it counts in the answer. The empty host is bounded by MostLog alone. Of the times, those of bytes that are taken are kept.
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
		r.files.wrote(r.dir.times(runID, attempt), r.dir.log(runID, attempt), r.dir.end(runID, attempt)) // a log with too few times stays so
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
		l.times.close() // those of what was not written are removed before the next
	}
	if err == nil && room < int64(len(data)) {
		r.log.Warn("a log was cut at a bound", "run_id", l.runID, "attempt", attempt, "host_id", hostID, "bytes", size, "bound", string(by))
		err = l.cut(r.dir, size, by)
	}
	return Appended{Offset: size, Bytes: n, Lines: bytes.Count(data[:n], []byte("\n")), Complete: l.end.whole(size)}, err
}

// room is how many of n bytes may be added to a log of this size; they count for the host. by is the bound when they
// are not all.
func (r *Relay) room(hostID string, size, n int64) (room int64, by cutBy) {
	if by = cutByHost; r.MostLog > 0 && n > r.MostLog-size {
		n, by = max(r.MostLog-size, 0), cutByAttempt
	}
	if room = r.quota.take(hostID, n); room < n {
		by = cutByHost
	}
	return room, by
}

// Finish notes how long an attempt's log is in the end, and answers how far it
// has come.
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
	l.notify(true) // followers ask again whether more can come
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
	case r.MostLog > 0 && size >= r.MostLog && size < length: // what follows is never taken
		err = l.cut(r.dir, size, cutByAttempt)
	default:
		if err = r.dir.writeEnd(l.runID, attempt, end); err == nil {
			l.end = end
		}
	}
	return Appended{Offset: size, Complete: l.end.whole(size)}, err
}

// open makes file the attempt's, and answers how many bytes of its log are here. One is enough: attempts follow each other.
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

// Ended announces that the session of a run ended or that the run became
// final: followers ask again whether more can come. Call it after the change
// can be read.
func (r *Relay) Ended(runID string) {
	r.mu.Lock()
	l := r.runs[runID]
	r.mu.Unlock()
	if l != nil {
		l.notify(true)
	}
}

// notify wakes the followers.
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

// news is a channel that is closed at the next notify, and how often Ended was
// announced until now.
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

// drop forgets a run that nobody uses: the caller closes it.
func (r *Relay) drop(e *list.Element) *runLog {
	l := r.idle.Remove(e).(*runLog)
	delete(r.runs, l.runID)
	return l
}

// Close closes the files that are kept open. What is in use stays usable.
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

// Purge removes the logs last written before the time, of runs that are not
// live, and returns how many.
func (r *Relay) Purge(before time.Time, live func(runID string) bool) (int, error) {
	used := func(runID string) bool {
		r.mu.Lock()
		l := r.runs[runID]
		busy := l != nil && l.users > 0
		var old *runLog
		if l != nil && !busy {
			old = r.drop(l.idle) // a removed file must not be written to
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

// Whole opens a log that is one file, for a reader that wants to seek: the
// attempt's, or with attempt 0 the only one there is. It is nil when there is
// no log or when there are several; then Open serves.
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
