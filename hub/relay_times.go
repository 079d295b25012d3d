package hub

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"svc/wire"
)

// The times of a log are lines of a separate file, ordered by the offsets of their bytes. They are written before the
// bytes, so a crash between the two loses nothing: times of bytes that are not in the log are removed when the file
// is next opened, and the worker sends them again with the bytes.

// keptTimes is the open file of times of the attempt that is being written.
type keptTimes struct {
	file *os.File // nil: not open
	size int64
	last int64 // the offset of the last line
}

func (k *keptTimes) close() {
	if k.file != nil {
		_ = k.file.Close() // every write was checked; nothing is buffered
		*k = keptTimes{}
	}
}

// keepTimes stores the times of the bytes between two offsets, which are about to be written. A failure is only
// logged, because a log is usable without its times. The caller holds l.writing.
func (r *Relay) keepTimes(l *runLog, hostID string, from, to int64, times []wire.LogTime) {
	err := l.times.open(r.dir.times(l.runID, l.attempt), from)
	if err == nil {
		err = l.times.add(r.quota, hostID, from, to, times)
	}
	if err != nil {
		l.times.close()
		r.log.Warn("the times of a log could not be stored", "run_id", l.runID, "attempt", l.attempt, "error", err)
	}
}

// timesTail is longer than two lines, in bytes.
const timesTail = 512

// open opens the file of times for a log of this size.
func (k *keptTimes) open(path string, size int64) error {
	if k.file != nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	good, last, err := timesBefore(f, size)
	if err == nil {
		err = f.Truncate(good)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	*k = keptTimes{file: f, size: good, last: last}
	return nil
}

// timesBefore returns where the lines about bytes before an offset end, and the offset of the last of them. Usually
// that is the last line of the file; after a crash or a loss there may be more lines.
func timesBefore(f *os.File, offset int64) (end, last int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	tail := make([]byte, min(info.Size(), timesTail))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return 0, 0, err
	}
	if lines := bytes.Split(tail, []byte("\n")); len(lines) > 2 && len(lines[len(lines)-1]) == 0 {
		if at, ok := wire.ParseLogTime(lines[len(lines)-2]); ok && at.Offset < offset {
			return info.Size(), at.Offset, nil
		}
	}
	lines := timesLines(f)
	for {
		at, err := lines.next()
		if errors.Is(err, io.EOF) || err == nil && at.Offset >= offset {
			return end, last, nil
		}
		if err != nil {
			return 0, 0, err
		}
		end, last = lines.read, at.Offset
	}
}

// add writes the times of the bytes between the offsets, as far as the limits allow. The order of the times comes
// from a peer and may be wrong.
func (k *keptTimes) add(quota *Quota, hostID string, from, to int64, times []wire.LogTime) error {
	var text []byte
	for _, at := range times {
		if at.Offset = max(at.Offset, k.last); at.Offset < from || at.Offset >= to {
			continue
		}
		k.last = at.Offset
		text = at.AppendLine(text)
	}
	n := int64(len(text))
	if n == 0 || k.size+n > wire.MaxTimesFile {
		return nil
	}
	if room := quota.take(hostID, n); room < n {
		quota.add(hostID, -room)
		return nil
	}
	wrote, err := k.file.Write(text)
	quota.add(hostID, int64(wrote)-n)
	k.size += int64(wrote)
	return err
}

// LogTimes reads the times at which the bytes of an attempt's log were written. The caller must call Close.
type LogTimes struct {
	file  *os.File
	lines *timeLines
	last  wire.LogTime
}

// Times opens the times of an attempt's log; nil: there are none. Times that are added later may be missing.
func (r *Relay) Times(runID string, attempt int) (*LogTimes, error) {
	if err := r.dir.check(runID); err != nil {
		return nil, err
	}
	f, err := os.Open(r.dir.times(runID, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open times of run %s, attempt %d: %w", runID, attempt, err)
	}
	return &LogTimes{file: f, lines: timesLines(f)}, nil
}

// Next returns the next time, or io.EOF at the end. Times and offsets never decrease.
func (t *LogTimes) Next() (wire.LogTime, error) {
	at, err := t.lines.next()
	if err != nil {
		return at, err
	}
	at.Ms, at.Offset = max(at.Ms, t.last.Ms), max(at.Offset, t.last.Offset)
	t.last = at
	return at, nil
}

// Close releases the file.
func (t *LogTimes) Close() error { return t.file.Close() }

// timeLines reads the lines of a file of times.
type timeLines struct {
	from *bufio.Reader
	read int64 // bytes, up to the end of the last valid line
	seen int64 // bytes, including lines that are not valid
}

func timesLines(f io.Reader) *timeLines { return &timeLines{from: bufio.NewReader(f)} }

// next returns the next valid line. An unfinished last line, as a crash may leave it, ends the file with io.EOF.
func (l *timeLines) next() (wire.LogTime, error) {
	for {
		line, err := l.from.ReadSlice('\n')
		l.seen += int64(len(line))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return wire.LogTime{}, err
		}
		if at, ok := wire.ParseLogTime(bytes.TrimSuffix(line, []byte("\n"))); ok && err == nil {
			l.read = l.seen
			return at, nil
		}
	}
}
