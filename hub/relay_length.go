package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// LogLength is the length of a log from its first byte.
type LogLength struct {
	Bytes int64
	Lines int64 // line ends
}

// Length returns the present length of an attempt's log. known is a length that it had before: only the bytes after
// it are read, unless the log is now shorter. A log that does not exist is empty. The notice of a log that was cut is
// not counted.
func (r *Relay) Length(runID string, attempt int, known LogLength) (LogLength, error) {
	if err := r.dir.check(runID); err != nil {
		return LogLength{}, err
	}
	f, err := os.Open(r.dir.log(runID, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return LogLength{}, nil
	}
	if err != nil {
		return LogLength{}, fmt.Errorf("measure log of run %s, attempt %d: %w", runID, attempt, err)
	}
	defer func() { _ = f.Close() }() // only read from
	end, err := r.dir.readEnd(runID, attempt)
	if err != nil {
		return LogLength{}, fmt.Errorf("measure log of run %s, attempt %d: %w", runID, attempt, err)
	}
	length, err := countOn(f, known, end)
	if err != nil {
		return LogLength{}, fmt.Errorf("measure log of run %s, attempt %d: %w", runID, attempt, err)
	}
	return length, nil
}

func countOn(f *os.File, known LogLength, end logEnd) (LogLength, error) {
	info, err := f.Stat()
	if err != nil {
		return LogLength{}, err
	}
	size := info.Size()
	if end.cut != "" {
		size = min(size, end.length)
	}
	if known.Bytes > size { // a part was lost, and the worker sends it again
		known = LogLength{}
	}
	if known.Bytes == size {
		return known, nil
	}
	rest := io.NewSectionReader(f, known.Bytes, size-known.Bytes)
	block := make([]byte, tailBlock)
	for {
		n, err := rest.Read(block)
		known.Bytes += int64(n)
		known.Lines += int64(bytes.Count(block[:n], []byte("\n")))
		if errors.Is(err, io.EOF) {
			return known, nil
		}
		if err != nil {
			return LogLength{}, err
		}
	}
}

// LogState describes the stored copy of an attempt's log.
type LogState struct {
	Exists bool
	Size   int64 // bytes
	End    int64 // the final length; negative: not known
	// Cut reports that the log reached a limit: it ends with a line that states this, and nothing more is accepted.
	Cut bool
}

// Complete reports whether no more bytes of the log will be stored.
func (s LogState) Complete() bool { return s.Exists && (s.Cut || s.End >= 0 && s.Size >= s.End) }

// Has reports whether a log of any attempt of the run is stored.
func (r *Relay) Has(runID string) bool {
	attempts, err := r.dir.attempts(runID)
	return err == nil && len(attempts) > 0
}

// State returns the state of the stored copy of an attempt's log.
func (r *Relay) State(runID string, attempt int) (LogState, error) {
	if err := r.dir.check(runID); err != nil {
		return LogState{}, err
	}
	end, err := r.dir.readEnd(runID, attempt)
	if err != nil {
		return LogState{}, fmt.Errorf("look at log of run %s, attempt %d: %w", runID, attempt, err)
	}
	info, err := os.Stat(r.dir.log(runID, attempt))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return LogState{End: end.at(0).length}, nil
	case err != nil:
		return LogState{}, fmt.Errorf("look at log of run %s, attempt %d: %w", runID, attempt, err)
	}
	end = end.at(info.Size())
	return LogState{Exists: true, Size: info.Size(), End: end.length, Cut: end.cut != ""}, nil
}
