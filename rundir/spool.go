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

// Entry is a signal that waits for its delivery.
type Entry struct {
	Path   string           // its file
	Number int64            // its place among the signals of its attempt
	Frame  wire.SignalFrame // verbatim: attempt, seq and timestamp are those of the emission
	// Token is the run's own, which a session writes beside what it reports; empty: the worker's own word,
	// or one of a session that was given no token.
	Token string
}

// spooled is an entry as it is on disk.
type spooled struct {
	wire.SignalFrame
	Token string `json:"token,omitempty"`
}

// RunID is the run it reports about.
func (e Entry) RunID() string { return e.Frame.RunID }

// Attempt is the attempt it reports about.
func (e Entry) Attempt() int { return *e.Frame.Attempt }

// Kind is what it reports.
func (e Entry) Kind() svc.SignalKind { return e.Frame.Kind }

// Put writes a signal of the worker itself into its spool and returns when it is safe there; see
// Attempt.Put.
func (d Dir) Put(s svc.Signal) (Entry, error) {
	return d.Attempt(s.RunID, s.Attempt).put(d.spool(), s, "")
}

// Put writes a signal of the session into the spool of its attempt, with the run's token, and returns when
// it is safe there. A progress signal without Seq gets its number here, unique and growing within its
// attempt whichever process reports. Signals become visible in the order of their numbers, before they are
// synced: a torn one, after a power cut, is found damaged. The reports of an end are written on a full disk
// too; others are then refused with ErrNoSpace.
func (a Attempt) Put(s svc.Signal, token string) (Entry, error) {
	return a.put(a.SpoolPath(), s, token)
}

func (a Attempt) put(spool string, s svc.Signal, token string) (Entry, error) {
	if !svc.IsID(s.RunID) || s.Attempt < 1 || s.RunID != a.RunID || s.Attempt != a.Number {
		return Entry{}, fmt.Errorf("spool signal: run %q, attempt %d is no attempt, or not this one", s.RunID, s.Attempt)
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
			release() // it is synced before it is visible, and is the last one in any case
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
	f, err := show(spool, e.Path, data)
	release()
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), atomicfile.SyncDir(spool))
	}
	return e, diskErrorOrNil(doing, err)
}

// entry is a signal under its number, and its record.
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

// show makes a complete file visible in one step, not yet synced, and answers it open.
func show(dir, path string, data []byte) (*os.File, error) {
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

// Pending lists what waits, the worker's and that of every attempt, the signals of an attempt in the order
// of their emission. What is damaged, or in the spool of another attempt, is moved to spool/bad and reported
// by its new path in bad; it is never fatal.
func (d Dir) Pending() (entries []Entry, bad []string, err error) {
	attempts, err := d.Attempts()
	if err != nil {
		return nil, nil, err
	}
	return d.IndexSpool().Pending(attempts)
}

// Pending is what waits of one attempt. It reads no other's.
func (a Attempt) Pending() (entries []Entry, bad []string, err error) {
	x := a.Dir.IndexSpool()
	x.prefix = a.spoolPrefix()
	return x.Pending([]Attempt{a})
}

// SpoolIndex remembers what was read of the spools: a signal never changes, so it is read once however
// long it waits.
type SpoolIndex struct {
	dir    Dir
	prefix string     // of the names that are looked at
	mu     sync.Mutex // serialises the readers; guards known
	known  map[string]Entry
}

// IndexSpool makes an index that knows nothing yet.
func (d Dir) IndexSpool() *SpoolIndex { return &SpoolIndex{dir: d} }

// Pending is Dir.Pending for some attempts, reading only what is new.
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

// list reads one folder. What is in an attempt's own and begins with another name is damage: who writes
// there speaks for that attempt alone.
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

// OwnWord reports whether an entry is in the worker's own spool, to which no session is led.
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

// readEntry reads one file. A name that does not fit its content is damage too.
func readEntry(path string) (Entry, error) {
	var read spooled
	f, err := openIn(path)
	if err := readOpened(f, &read, err); err != nil {
		return Entry{}, err
	}
	e := Entry{Path: path, Frame: read.SignalFrame, Token: read.Token}
	if !svc.IsID(e.Frame.RunID) || e.Frame.Attempt == nil || *e.Frame.Attempt < 1 {
		return e, fmt.Errorf("%w: it names no attempt", ErrCorrupt)
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

// setAside moves a damaged file out of the way; on a full disk it is left where it is.
func (d Dir) setAside(path string) (to string, moved bool) {
	to = filepath.Join(d.bad(), filepath.Base(path))
	if err := os.MkdirAll(d.bad(), 0o700); err != nil {
		return "", false
	}
	return to, moveIn(path, to) == nil
}

// Done removes a delivered signal. That it is gone already is no error: another process has
// delivered it too, or the session has replaced the folder.
func (d Dir) Done(e Entry) error {
	if err := removeIn(e.Path); err != nil && !gone(err) {
		return fmt.Errorf("remove delivered signal: %w", err)
	}
	return nil
}

// gone says of an error that nothing of ours is in that place.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrForeign) }

// Reject moves a signal that the orchestrator will never take to spool/bad, for the operator to see. A
// session that cannot reach that folder keeps it in its own. That it is gone already is no error.
func (d Dir) Reject(e Entry) error {
	err := os.MkdirAll(d.bad(), 0o700)
	if err == nil {
		err = moveIn(e.Path, filepath.Join(d.bad(), filepath.Base(e.Path)))
	}
	if err != nil && !gone(err) {
		err = moveWithin(e.Path, "bad")
	}
	if err == nil || gone(err) {
		return nil
	}
	return diskError("set refused signal aside", err)
}

// abandoned reports whether the writer of an unfinished file has died: a living one holds its lock, also
// while it is stopped.
func abandoned(path string) bool {
	f, err := openIn(path)
	if err != nil {
		return errors.Is(err, ErrForeign)
	}
	defer f.Close()
	return lockFile(f, unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Sweep removes unfinished files older than that, which a crash has left behind.
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
