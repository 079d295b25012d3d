package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"svc"
	"svc/atomicfile"
	"svc/wire"
)

// Entry is a signal that waits for delivery.
type Entry struct {
	Path   string           // its file
	Number int64            // its position among the signals of its attempt
	Frame  wire.SignalFrame // unchanged: attempt, seq and timestamp are those of the emission
	// Token is the run's token, which a session writes into its signals; empty: the signal is the worker's own,
	// or the session has no token.
	Token string
}

// spooled is an entry as it is on disk.
type spooled struct {
	wire.SignalFrame
	Token string `json:"token,omitempty"`
}

// RunID returns the run that the signal is about.
func (e Entry) RunID() string { return e.Frame.RunID }

// Attempt returns the attempt that the signal is about.
func (e Entry) Attempt() int { return *e.Frame.Attempt }

// Kind returns the signal's kind.
func (e Entry) Kind() svc.SignalKind { return e.Frame.Kind }

// Put writes one of the worker's own signals into the worker's spool and returns when it is synced; see
// Attempt.Put.
func (d Dir) Put(s svc.Signal) (Entry, error) {
	return d.Attempt(s.RunID, s.Attempt).put(d.spool(), s, "")
}

// Put writes a signal of the session, with the run's token, into the spool of its attempt and returns when it
// is synced. A progress signal without Seq gets a number, which is unique and increasing within its attempt,
// whichever process reports. Signals become visible in the order of their numbers, before they are synced; a
// signal that a power cut has torn is found to be damaged. Reports of an end can be written on a full disk too;
// for other signals the error is then ErrNoSpace.
func (a Attempt) Put(s svc.Signal, token string) (Entry, error) {
	return a.put(a.SpoolPath(), s, token)
}

func (a Attempt) put(spool string, s svc.Signal, token string) (Entry, error) {
	if !svc.IsID(s.RunID) || s.Attempt < 1 || s.RunID != a.RunID || s.Attempt != a.Number {
		return Entry{}, fmt.Errorf("spool signal: run %q, attempt %d is invalid, or is not this attempt", s.RunID, s.Attempt)
	}
	doing := fmt.Sprintf("spool %s signal", s.Kind)
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return Entry{}, diskError(doing, err)
	}
	release := a.holdOrder()
	defer release()
	if s.Source == svc.FromWrapper && (s.Kind == svc.SignalFinished || s.Kind == svc.SignalFailed) {
		n, err := a.takeNumber()
		if err != nil {
			n = a.lastNumber()
		}
		e, data, err := a.entry(spool, s, n, token)
		if err == nil {
			release() // it is synced before it becomes visible, and is the last signal in any case
			err = a.replaceFrom(reserveFinished, e.Path, data)
		}
		return e, diskErrorOrNil(doing, err)
	}
	n, err := a.takeNumber()
	if err != nil {
		return Entry{}, diskErrorOrNil(doing, err)
	}
	e, data, err := a.entry(spool, s, n, token)
	if err != nil {
		return Entry{}, diskErrorOrNil(doing, err)
	}
	f, err := publishFile(spool, e.Path, data)
	release()
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), atomicfile.SyncDir(spool))
	}
	return e, diskErrorOrNil(doing, err)
}

// entry returns the entry of a signal with this number, and its encoded record.
func (a Attempt) entry(spool string, s svc.Signal, number int64, token string) (Entry, []byte, error) {
	if s.Kind == svc.SignalProgress && s.Seq == 0 {
		s.Seq = number
	}
	e := Entry{
		Path: a.spoolName(spool, number, s.Kind), Number: number, Token: token,
		Frame: wire.SignalFrame{RunID: s.RunID, Signal: wire.FromSignal(s)},
	}
	data, err := encodeRecord(spooled{e.Frame, token})
	return e, data, err
}

// publishFile makes a complete file visible atomically, without a sync, and returns it open.
func publishFile(dir, path string, data []byte) (*os.File, error) {
	f, err := unfinished(dir)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// Pending lists the waiting signals of the worker and of every attempt; those of an attempt are in the order of
// their emission. A signal that is damaged or in the spool of another attempt is moved to spool/bad, and its
// new path is returned in bad; it is never an error.
func (d Dir) Pending() (entries []Entry, bad []string, err error) {
	attempts, err := d.Attempts()
	if err != nil {
		return nil, nil, err
	}
	return d.IndexSpool().Pending(attempts)
}

// Pending lists the waiting signals of one attempt. It does not read those of others.
func (a Attempt) Pending() (entries []Entry, bad []string, err error) {
	x := a.Dir.IndexSpool()
	x.prefix = a.spoolPrefix()
	return x.Pending([]Attempt{a})
}

// SpoolIndex caches the signals that were read from the spools. A signal never changes, so it is read only
// once, however long it waits.
type SpoolIndex struct {
	dir    Dir
	prefix string     // only files with this prefix are read
	mu     sync.Mutex // serialises the readers; guards known
	known  map[string]Entry
}

// IndexSpool returns an empty index.
func (d Dir) IndexSpool() *SpoolIndex { return &SpoolIndex{dir: d} }

// Pending is Dir.Pending for some attempts; it reads only new signals.
func (x *SpoolIndex) Pending(attempts []Attempt) (entries []Entry, bad []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := map[string]Entry{}
	look := func(spool, prefix string) error {
		found, damaged, err := x.list(spool, prefix, seen)
		entries, bad = append(entries, found...), append(bad, damaged...)
		return err
	}
	if err := look(x.dir.spool(), x.prefix); err != nil {
		return nil, bad, err
	}
	for _, a := range attempts {
		if err := look(a.SpoolPath(), a.spoolPrefix()); err != nil {
			return nil, bad, err
		}
	}
	x.known = seen
	sort.Slice(entries, func(i, j int) bool { return before(entries[i], entries[j]) })
	return entries, bad, nil
}

// list reads one folder. In an attempt's own spool a file with another name is damaged: a session may only
// report about its own attempt.
func (x *SpoolIndex) list(spool, prefix string, seen map[string]Entry) (entries []Entry, bad []string, err error) {
	files, err := readDir(spool)
	if err != nil {
		return nil, nil, fmt.Errorf("list spool: %w", err)
	}
	own := spool != x.dir.spool()
	for _, f := range files {
		path, ours := filepath.Join(spool, f.Name()), strings.HasPrefix(f.Name(), prefix)
		if f.IsDir() || strings.HasPrefix(f.Name(), tempPrefix) || !ours && !own {
			continue
		}
		e, read := x.known[path]
		if !read {
			e, err = readEntry(path)
			if err == nil && !ours {
				err = fmt.Errorf("%w: it is in the spool of another attempt", ErrCorrupt)
			}
		}
		switch {
		case errors.Is(err, os.ErrNotExist): // delivered meanwhile
		case errors.Is(err, ErrCorrupt):
			if to, moved := x.dir.setAside(path); moved {
				bad = append(bad, to)
			}
		case err != nil:
			return nil, bad, fmt.Errorf("list spool: %w", err)
		default:
			entries, seen[path] = append(entries, e), e
		}
		err = nil
	}
	return entries, bad, nil
}

// OwnWord reports whether an entry is in the worker's own spool, whose path no session gets.
func (d Dir) OwnWord(e Entry) bool { return filepath.Dir(e.Path) == d.spool() }

func before(a, b Entry) bool {
	switch {
	case a.RunID() != b.RunID():
		return a.RunID() < b.RunID()
	case a.Attempt() != b.Attempt():
		return a.Attempt() < b.Attempt()
	default:
		return a.Number < b.Number
	}
}

// readEntry reads one file. A file whose name does not match its content is damaged.
func readEntry(path string) (Entry, error) {
	var read spooled
	f, err := openIn(path)
	if err := readOpened(f, &read, err); err != nil {
		return Entry{}, err
	}
	e := Entry{Path: path, Frame: read.SignalFrame, Token: read.Token}
	if !svc.IsID(e.Frame.RunID) || e.Frame.Attempt == nil || *e.Frame.Attempt < 1 {
		return e, fmt.Errorf("%w: it has no valid run and attempt", ErrCorrupt)
	}
	prefix := fmt.Sprintf("%s.%d.", e.RunID(), e.Attempt())
	digits, fits := strings.CutPrefix(filepath.Base(path), prefix)
	digits, kind, _ := strings.Cut(digits, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !fits || err != nil || n < 0 || kind != string(e.Kind()) {
		return e, fmt.Errorf("%w: its name is that of another signal", ErrCorrupt)
	}
	e.Number = n
	return e, nil
}

// setAside moves a damaged file to spool/bad. If that fails, on a full disk for example, the file stays.
func (d Dir) setAside(path string) (to string, moved bool) {
	to = filepath.Join(d.bad(), filepath.Base(path))
	if err := os.MkdirAll(d.bad(), 0o700); err != nil {
		return "", false
	}
	return to, moveIn(path, to) == nil
}

// Done removes a delivered signal. It is no error if the file is gone: another process has delivered the signal
// too, or the session has replaced the folder.
func (d Dir) Done(e Entry) error {
	if err := removeIn(e.Path); err != nil && !isGone(err) {
		return fmt.Errorf("remove delivered signal: %w", err)
	}
	return nil
}

// isGone reports whether err means that svc's file is no longer in its place.
func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrForeign) }

// Reject moves a signal that the orchestrator will never accept to spool/bad, for the operator. A session that
// cannot write to that folder moves it to a folder in its own spool. It is no error if the file is gone.
func (d Dir) Reject(e Entry) error {
	err := os.MkdirAll(d.bad(), 0o700)
	if err == nil {
		err = moveIn(e.Path, filepath.Join(d.bad(), filepath.Base(e.Path)))
	}
	if err != nil && !isGone(err) {
		err = moveWithin(e.Path, "bad")
	}
	if err == nil || isGone(err) {
		return nil
	}
	return diskError("set refused signal aside", err)
}

// abandoned reports whether the writer of a temporary file has died: a living writer holds its lock, even while
// suspended.
func abandoned(path string) bool {
	f, err := openIn(path)
	if err != nil {
		return errors.Is(err, ErrForeign)
	}
	defer f.Close()
	return lockFile(f, unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Sweep removes temporary files older than this, which a crash has left.
func (d Dir) Sweep(olderThan time.Time) error {
	attempts, err := d.Attempts()
	if err != nil {
		return err
	}
	dirs := []string{d.spool()}
	for _, a := range attempts {
		dirs = append(dirs, a.Path(), a.SessionPath(), a.SpoolPath())
	}
	for _, dir := range dirs {
		files, err := readDir(dir)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", dir, err)
		}
		for _, f := range files {
			path := filepath.Join(dir, f.Name())
			info, err := f.Info()
			if err == nil && strings.HasPrefix(f.Name(), tempPrefix) && info.ModTime().Before(olderThan) && abandoned(path) {
				_ = removeIn(path)
			}
		}
	}
	return nil
}
