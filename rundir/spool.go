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
	"svc/wire"
)

// Entry is a signal that waits for its delivery.
type Entry struct {
	Path   string           // its file
	Number int64            // its place among the signals of its attempt
	Frame  wire.SignalFrame // verbatim: attempt, seq and timestamp are those of the emission
}

// RunID is the run it reports about.
func (e Entry) RunID() string { return e.Frame.RunID }

// Attempt is the attempt it reports about.
func (e Entry) Attempt() int { return *e.Frame.Attempt }

// Kind is what it reports.
func (e Entry) Kind() svc.SignalKind { return e.Frame.Kind }

// Put writes a signal into the spool and returns when it is safe there. A progress signal without
// Seq gets its number here, unique and growing within its attempt whichever process reports.
// Signals become visible in the order of their numbers, before they are synced: a torn one, after a
// power cut, is found damaged. The reports of an end are written on a full disk too; others are then
// refused with ErrNoSpace.
func (d Dir) Put(s svc.Signal) (Entry, error) {
	if !svc.IsID(s.RunID) || s.Attempt < 1 {
		return Entry{}, fmt.Errorf("spool signal: run %q, attempt %d is no attempt", s.RunID, s.Attempt)
	}
	doing := fmt.Sprintf("spool %s signal", s.Kind)
	if err := os.MkdirAll(d.spool(), 0o700); err != nil {
		return Entry{}, diskError(doing, err)
	}
	a := d.Attempt(s.RunID, s.Attempt)
	release := a.holdOrder()
	defer release()
	if s.Source == svc.FromWrapper && (s.Kind == svc.SignalFinished || s.Kind == svc.SignalFailed) {
		n, err := a.takeNumber()
		if err != nil {
			n = a.lastNumber()
		}
		e, data, err := a.entry(s, n)
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
	e, data, err := a.entry(s, n)
	if err != nil {
		return Entry{}, diskErrorOrNil(doing, err)
	}
	f, err := show(d.spool(), e.Path, data)
	release()
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), syncDir(d.spool()))
	}
	return e, diskErrorOrNil(doing, err)
}

// entry is a signal under its number, and its record.
func (a Attempt) entry(s svc.Signal, number int64) (Entry, []byte, error) {
	if s.Kind == svc.SignalProgress && s.Seq == 0 {
		s.Seq = number
	}
	e := Entry{
		Path: a.spoolName(number, s.Kind), Number: number,
		Frame: wire.SignalFrame{RunID: s.RunID, Signal: wire.FromSignal(s)},
	}
	data, err := encodeRecord(e.Frame)
	return e, data, err
}

// show makes a complete file visible in one step, not yet synced, and answers it open.
func show(dir, path string, data []byte) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPrefix)
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

// Pending lists what waits, the signals of an attempt in the order of their emission. What is
// damaged is moved to spool/bad and reported by its new path in bad; it is never fatal.
func (d Dir) Pending() (entries []Entry, bad []string, err error) { return d.pending("") }

// Pending lists what waits of this attempt alone, like Dir.Pending, and reads no other's.
func (a Attempt) Pending() (entries []Entry, bad []string, err error) {
	return a.Dir.pending(a.spoolPrefix())
}

func (d Dir) pending(prefix string) (entries []Entry, bad []string, err error) {
	return d.pendingBut(prefix, nil)
}

// pendingBut is pending without reading what is known, by name.
func (d Dir) pendingBut(prefix string, known map[string]Entry) (entries []Entry, bad []string, err error) {
	files, err := os.ReadDir(d.spool())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("list spool: %w", err)
	}
	for _, f := range files {
		if f.IsDir() || strings.HasPrefix(f.Name(), tempPrefix) || !strings.HasPrefix(f.Name(), prefix) {
			continue
		}
		if e, read := known[f.Name()]; read {
			entries = append(entries, e)
			continue
		}
		e, err := readEntry(filepath.Join(d.spool(), f.Name()))
		switch {
		case errors.Is(err, os.ErrNotExist): // delivered meanwhile
		case errors.Is(err, ErrCorrupt):
			if to, moved := d.setAside(f.Name()); moved {
				bad = append(bad, to)
			}
		case err != nil:
			return nil, bad, fmt.Errorf("list spool: %w", err)
		default:
			entries = append(entries, e)
		}
	}
	sort.Slice(entries, func(i, j int) bool { return before(entries[i], entries[j]) })
	return entries, bad, nil
}

// SpoolIndex remembers what was read of a spool: a signal never changes, so it is read once however
// long it waits.
type SpoolIndex struct {
	dir   Dir
	mu    sync.Mutex // serialises the readers; guards known
	known map[string]Entry
}

// IndexSpool makes an index that knows nothing yet.
func (d Dir) IndexSpool() *SpoolIndex { return &SpoolIndex{dir: d} }

// Pending is Dir.Pending, reading only what is new.
func (x *SpoolIndex) Pending() (entries []Entry, bad []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	entries, bad, err = x.dir.pendingBut("", x.known)
	if err != nil {
		return nil, bad, err
	}
	x.known = make(map[string]Entry, len(entries))
	for _, e := range entries {
		x.known[filepath.Base(e.Path)] = e
	}
	return entries, bad, nil
}

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
	e := Entry{Path: path}
	if err := ReadRecord(path, &e.Frame); err != nil {
		return e, err
	}
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
func (d Dir) setAside(name string) (to string, moved bool) {
	to = filepath.Join(d.bad(), name)
	if err := os.MkdirAll(d.bad(), 0o700); err != nil {
		return "", false
	}
	return to, os.Rename(filepath.Join(d.spool(), name), to) == nil
}

// Done removes a delivered signal. That it is gone already is no error: another process has
// delivered it too.
func (d Dir) Done(e Entry) error {
	if err := os.Remove(e.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove delivered signal: %w", err)
	}
	return nil
}

// Reject moves a signal that the orchestrator will never take to spool/bad, for the operator to see.
// That it is gone already is no error.
func (d Dir) Reject(e Entry) error {
	to := filepath.Join(d.bad(), filepath.Base(e.Path))
	err := os.MkdirAll(d.bad(), 0o700)
	if err == nil {
		err = os.Rename(e.Path, to)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return diskError("set refused signal aside", err)
	}
	return nil
}

// abandoned says whether the writer of an unfinished file has died: a living one holds its lock, also
// while it is stopped.
func abandoned(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
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
		dirs = append(dirs, a.Path())
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
		if err != nil {
			return fmt.Errorf("sweep %s: %w", dir, err)
		}
		for _, f := range files {
			info, err := os.Lstat(f)
			if err == nil && info.ModTime().Before(olderThan) && abandoned(f) {
				_ = os.Remove(f)
			}
		}
	}
	return nil
}
