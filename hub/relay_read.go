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

// followPoll is how often a follower calls Follow without a notification: a notification may be missed.
const followPoll = 5 * time.Second

// LogQuery selects the part of a run's log to read.
type LogQuery struct {
	Attempt int  // 0: all attempts, in order
	Tail    int  // the last lines of the stored log; negative: everything
	Text    bool // remove escape sequences; otherwise return the raw bytes
	// From is the position to begin at, in place of Tail; nil: the beginning.
	From *LogPlace
	// Follow reports whether more output may be added. The reader then waits for it, and ends after Follow has
	// returned false. Nil: the reader ends at the present end of the log.
	Follow func() bool
}

// LogReader reads a run's log at its own pace. It must be used by one goroutine only.
type LogReader struct {
	ctx   context.Context
	relay *Relay
	log   *runLog
	query LogQuery

	from LogPlace // where reading began

	file    *os.File // nil: none is open
	attempt int      // of file; 0: none
	left    []span   // what to read after file, in order
	limit   int64    // bytes to read from file; negative: to its end, which may still move

	checked      bool // checkMore was called since the last byte
	news         <-chan struct{}
	followCalled bool
	calls        int  // count of calls when Follow was called
	live         bool // the result of Follow
	next         int  // the attempt after this one; 0: none yet

	strip *safetext.Filter // nil: return raw bytes
	raw   []byte           // buffer for raw bytes
	clean []byte           // filtered bytes that are not yet returned
	end   error
}

// span is a piece of one attempt's log.
type span struct {
	attempt  int
	from, to int64
}

// Open returns a reader of a run's log. A log that does not exist is empty. The caller must call Close.
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

// spans returns the parts that are stored now.
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
			continue // removed meanwhile
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

// Read reads the next bytes. It blocks only when it follows the log and has reached its end. It returns io.EOF at the
// end, or the error of the context.
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
			lr.checked = false
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

// readFile reads from the current file; it returns 0 at its end.
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

// proceed decides how to continue at the end of a file. A follower first calls checkMore and then reads once more, so that
// bytes that were written before the end of the session, or before the next attempt, are never skipped.
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
	if !lr.checked {
		lr.checked = true
		return lr.checkMore()
	}
	lr.checked = false
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
		return nil // removed meanwhile: treat it as empty
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

// checkMore checks whether more output may come, and whether a later attempt has begun.
func (lr *LogReader) checkMore() error {
	news, calls := lr.log.news()
	lr.news = news
	if !lr.followCalled || calls != lr.calls {
		lr.followCalled, lr.calls = true, calls
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
		lr.followCalled = false
	case <-lr.ctx.Done():
		return lr.ctx.Err()
	}
	return nil
}
