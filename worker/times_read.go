package worker

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"svc/rundir"
	"svc/wire"
)

// timesReader reads the times of the bytes that a relay sends. If the file cannot be read there are none: the
// log does not wait for it.
type timesReader struct {
	path string
	pos  int64 // of the next line in the file
	at   int64 // the offset up to which times were returned
}

// between returns the times of the bytes between two offsets. If there are more than a chunk may carry, it
// returns the first of them and a lower end offset.
func (t *timesReader) between(from, to int64) ([]wire.LogTime, int64) {
	size := fileSize(t.path)
	again := from != t.at || size < t.pos // the relay was sent ahead or back, or the session changed the file
	if !again && size == t.pos {
		t.at = to
		return nil, to
	}
	f, err := rundir.OpenOwn(t.path, os.O_RDONLY)
	if err != nil {
		t.at = to
		return nil, to
	}
	defer func() { _ = f.Close() }() // only read from
	if again {
		t.pos = seekTime(f, size, from)
	}
	times, to := t.collect(io.NewSectionReader(f, t.pos, size-t.pos), from, to, again)
	t.at = to
	return times, to
}

// collect reads lines up to the first one for a byte after the range. After a search, lines for earlier bytes
// were sent before and are skipped. Otherwise a line with a lower offset was written by the other of the two
// writers, and is used now.
func (t *timesReader) collect(file io.Reader, from, to int64, searched bool) (times []wire.LogTime, end int64) {
	lines := bufio.NewReaderSize(file, 4<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return times, to // the rest of a line is still to come
		}
		at, ok := wire.ParseLogTime(bytes.TrimSuffix(line, []byte("\n")))
		if ok && at.Offset >= to {
			return times, to
		}
		if len(times) == wire.MaxTimes {
			if at.Offset > from {
				return times, max(at.Offset, times[len(times)-1].Offset+1)
			}
			ok = false // svc never writes so many times for one byte; the rest is skipped
		}
		t.pos += int64(len(line))
		if !ok || searched && at.Offset < from {
			continue
		}
		searched = false
		at.Offset = max(at.Offset, from)
		if n := len(times); n > 0 {
			at.Offset = max(at.Offset, times[n-1].Offset)
		}
		times = append(times, at)
	}
}

// seekTime returns the position of a line before which all lines are for bytes before the offset. Lines are
// sorted by byte.
func seekTime(f io.ReaderAt, size, offset int64) int64 {
	low, high := int64(0), size
	block := make([]byte, 2*rundir.MostTimesLine)
	for high-low > 16*rundir.MostTimesLine {
		middle := low + (high-low)/2
		n, _ := f.ReadAt(block, middle)
		_, rest, _ := bytes.Cut(block[:n], []byte("\n"))
		line, _, whole := bytes.Cut(rest, []byte("\n"))
		if at, ok := wire.ParseLogTime(line); whole && ok && at.Offset < offset {
			low = middle + int64(n-len(rest))
		} else {
			high = middle
		}
	}
	return low
}
