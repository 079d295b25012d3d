package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"svc/safetext"
)

// followPoll is how often a follower asks whether more can come even when
// nobody told it: an announcement is a wake-up, never the truth.
const followPoll = 5 * time.Second

// LogQuery says which part of a run's log is wanted.
type LogQuery struct {
	Attempt int  // 0: all attempts, in order
	Tail    int  // the last lines of what is there; negative: everything
	Text    bool // escape sequences removed; else byte for byte
	// From is where to begin, in place of Tail; nil: at the beginning.
	From *LogPlace
	// Follow is asked whether more output may come; the reader then waits for it
	// and ends once it says no. Nil: the reader ends with what is there now.
	Follow func() bool
}

// LogReader reads a run's log at its own pace. It is for one goroutine.
type LogReader struct {
	ctx   context.Context
	relay *Relay
	log   *runLog
	query LogQuery

	from LogPlace // where it began

	file    *os.File // nil: none opened yet
	attempt int      // of file; 0: none
	left    []span   // what to read after file, in order; only when not following
	limit   int64    // bytes left of file; negative: to its end, wherever that is

	looked bool // around, since the last byte
	news   <-chan struct{}
	asked  bool
	calls  int  // announcements when it was asked
	live   bool // what the answer was
	next   int  // the attempt after this one; 0: none yet

	strip *safetext.Filter // nil: byte for byte
	raw   []byte           // room for what is stripped
	clean []byte           // stripped and not yet given
	end   error
}

// span is a piece of one attempt's log.
type span struct {
	attempt  int
	from, to int64
}

// Open begins to read a run's log. A log that does not exist is empty. Close
// must be called.
func (r *Relay) Open(ctx context.Context, runID string, q LogQuery) (*LogReader, error) {
	if err := r.dir.check(runID); err != nil {
		return nil, err
	}
	spans, err := r.spans(runID, q.Attempt)
	if err != nil {
		return nil, err
	}
	if q.From != nil {
		spans = startAt(spans, *q.From)
	} else if q.Tail >= 0 {
		if spans, err = r.tail(runID, spans, q.Tail); err != nil {
			return nil, err
		}
	}
	lr := &LogReader{ctx: ctx, relay: r, log: r.acquire(runID), query: q, left: spans}
	switch {
	case len(spans) > 0:
		lr.from = LogPlace{spans[0].attempt, spans[0].from}
	case q.From != nil:
		lr.from = *q.From
	}
	if q.Text {
		lr.strip = safetext.Plain()
		lr.raw = make([]byte, 32<<10)
	}
	return lr, nil
}

// spans is what there is now.
func (r *Relay) spans(runID string, attempt int) ([]span, error) {
	attempts, err := r.dir.attempts(runID)
	if err != nil {
		return nil, err
	}
	var spans []span
	for _, a := range attempts {
		if attempt != 0 && attempt != a {
			continue
		}
		info, err := os.Stat(r.dir.log(runID, a))
		if errors.Is(err, fs.ErrNotExist) {
			continue // purged meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("open log of run %s, attempt %d: %w", runID, a, err)
		}
		spans = append(spans, span{attempt: a, to: info.Size()})
	}
	return spans, nil
}

// Close releases the log.
func (lr *LogReader) Close() error {
	lr.closeFile()
	lr.relay.release(lr.log)
	return nil
}

func (lr *LogReader) closeFile() {
	if lr.file != nil {
		_ = lr.file.Close() // only read from
		lr.file = nil
	}
}

// Read gives the next bytes. It waits only when it follows and nothing is
// there; it ends with io.EOF, or with the error of the context.
func (lr *LogReader) Read(p []byte) (int, error) {
	if lr.strip == nil {
		return lr.readRaw(p)
	}
	for len(lr.clean) == 0 && lr.end == nil {
		n, err := lr.readRaw(lr.raw)
		lr.clean = lr.strip.Append(lr.clean[:0], lr.raw[:n])
		if err != nil {
			lr.end = err
			lr.clean = lr.strip.Finish(lr.clean)
		}
	}
	if len(lr.clean) == 0 {
		return 0, lr.end
	}
	n := copy(p, lr.clean)
	lr.clean = lr.clean[n:]
	return n, nil
}

func (lr *LogReader) readRaw(p []byte) (int, error) {
	for {
		if err := lr.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := lr.readFile(p)
		if n > 0 {
			lr.looked = false
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		if err := lr.proceed(); err != nil {
			return 0, err
		}
	}
}

// readFile gives what the current file still has: nothing at its end.
func (lr *LogReader) readFile(p []byte) (int, error) {
	if lr.file == nil {
		return 0, nil
	}
	if lr.limit >= 0 && int64(len(p)) > lr.limit {
		p = p[:lr.limit]
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := lr.file.Read(p)
	if lr.limit >= 0 {
		lr.limit -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("read log of run %s: %w", lr.log.runID, err)
	}
	return n, nil
}

// proceed decides what to do at the end of a file. A follower first looks
// around and then reads once more, so that bytes written before the end of the
// session, or before the next attempt, are never passed over.
func (lr *LogReader) proceed() error {
	if len(lr.left) > 0 {
		s := lr.left[0]
		lr.left = lr.left[1:]
		limit := s.to - s.from
		if lr.query.Follow != nil && len(lr.left) == 0 {
			limit = -1
		}
		return lr.openAt(s.attempt, s.from, limit)
	}
	if lr.query.Follow == nil {
		return io.EOF
	}
	if !lr.looked {
		lr.looked = true
		return lr.look()
	}
	lr.looked = false
	switch {
	case lr.next > 0:
		return lr.openAt(lr.next, 0, -1)
	case !lr.live:
		return io.EOF
	default:
		return lr.wait()
	}
}

func (lr *LogReader) openAt(attempt int, from, limit int64) error {
	lr.closeFile()
	lr.attempt, lr.limit, lr.next = attempt, limit, 0
	f, err := os.Open(lr.relay.dir.log(lr.log.runID, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // purged meanwhile: as if it had been empty
	}
	if err == nil {
		lr.file = f
		_, err = f.Seek(from, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("open log of run %s, attempt %d: %w", lr.log.runID, attempt, err)
	}
	return nil
}

// look finds out whether more may come, and whether a later attempt has begun.
func (lr *LogReader) look() error {
	news, calls := lr.log.news()
	lr.news = news
	if !lr.asked || calls != lr.calls {
		lr.asked, lr.calls = true, calls
		lr.live = lr.query.Follow()
	}
	attempts, err := lr.relay.dir.attempts(lr.log.runID)
	if err != nil {
		return err
	}
	lr.next = 0
	later, _ := slices.BinarySearch(attempts, lr.attempt+1)
	switch {
	case lr.query.Attempt == 0 && later < len(attempts):
		lr.next = attempts[later]
	case lr.query.Attempt > lr.attempt && slices.Contains(attempts, lr.query.Attempt):
		lr.next = lr.query.Attempt // it has begun only now
	}
	return nil
}

func (lr *LogReader) wait() error {
	poll := time.NewTimer(followPoll)
	defer poll.Stop()
	select {
	case <-lr.news:
	case <-poll.C:
		lr.asked = false
	case <-lr.ctx.Done():
		return lr.ctx.Err()
	}
	return nil
}
