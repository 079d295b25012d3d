package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// tail reduces the spans to their last n lines. Lines are counted in the whole stream: a line that is not finished at
// the end of an attempt continues in the next one. tail reads backwards and stops as soon as possible.
func (r *Relay) tail(runID string, spans []span, n int) ([]span, error) {
	t := tailScan{want: n}
	for i := len(spans) - 1; i >= 0; i-- {
		s := spans[i]
		from, found, err := t.scanFile(r.dir.log(runID, s.attempt), s.to)
		if err != nil {
			return nil, fmt.Errorf("read log of run %s, attempt %d: %w", runID, s.attempt, err)
		}
		if found {
			spans[i].from = from
			return spans[i:], nil
		}
	}
	return spans, nil
}

// tailScan counts line ends from the end of a stream.
type tailScan struct {
	want  int  // lines
	seen  int  // line ends, without the one that closes the last line
	begun bool // a byte was read
}

const tailBlock = 64 << 10

// scanFile searches the bytes of a file before end for the beginning of the last lines.
func (t *tailScan) scanFile(path string, end int64) (from int64, found bool, err error) {
	if t.want == 0 {
		return end, true, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	block := make([]byte, tailBlock)
	for end > 0 {
		b := block[:min(end, tailBlock)]
		end -= int64(len(b))
		if _, err := f.ReadAt(b, end); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		if at, ok := t.scan(b); ok {
			return end + int64(at), true, nil
		}
	}
	return 0, false, nil
}

// scan searches one block. Blocks are passed from the end of the stream to its beginning.
func (t *tailScan) scan(b []byte) (at int, found bool) {
	rest := b
	if !t.begun && len(b) > 0 {
		t.begun = true
		if b[len(b)-1] == '\n' {
			rest = b[:len(b)-1]
		}
	}
	for {
		i := bytes.LastIndexByte(rest, '\n')
		if i < 0 {
			return 0, false
		}
		t.seen++
		if t.seen == t.want {
			return i + 1, true
		}
		rest = rest[:i]
	}
}
