package worker

import (
	"math"
	"os"
	"sync"
	"time"

	"svc/wire"
)

// The log's way to the orchestrator.
const (
	chunkMost  = 64 << 10        // raw bytes of a chunk
	askMost    = 4 << 10         // of the first chunk of a connection, which asks where to go on
	stallAfter = 5 * time.Second // without progress, what is unacknowledged is sent again

	// Unacknowledged bytes of a run. Keys are queued behind what is under way, so there is less of it
	// while someone is attached, and least while they type.
	windowAlone    = 256 << 10
	windowAttached = 64 << 10
	windowTyping   = 16 << 10
)

// relay sends the log of one attempt as a byte stream. The orchestrator keeps
// the offset: it takes a chunk only where its own copy ends and answers with
// that place, ahead or back, and the relay goes on from there. So no byte is
// lost or repeated, whoever restarts. All offsets count from the attempt's
// first byte, wherever the file has it.
type relay struct {
	runID   string
	attempt int
	path    string
	base    int64 // where in the file the attempt begins
	most    int64 // of the attempt's bytes that are relayed; what is beyond is not ours
	now     func() time.Time
	wake    chan struct{} // holds one token when there may be something to do

	file  os.FileInfo // of the log that was first read: nothing else is read in its place; only run touches it
	times timesReader // likewise

	mu    sync.Mutex // guards the fields below
	link  *link      // the connection that they refer to
	phase phase
	sent  int64
	acked int64
	// rewound: the orchestrator sent the relay back. Answers that name the same
	// place once more belong to chunks from before, until there is progress.
	rewound bool
	moved   time.Time // when the relay last got further
	queued  int       // chunks that wait to be written: a slow connection is no stall
	end     int64     // the attempt's length; -1 while it may still grow
	endAt   time.Time // when that length was last told on the connection; zero: it was not
	// complete: the orchestrator said on this connection that it has the whole log.
	complete bool
	cut      bool // the log is shorter than what was relayed of it, and that was said
	lost     bool // the rest of the log is not on this host any more
	// stuckFrom is how long the connection had been answering when the orchestrator last took a byte, or
	// the log got its end.
	stuckFrom time.Duration
}

// phase is how far a relay has come on a connection.
type phase int

const (
	phaseAsk   phase = iota // nothing was sent yet
	phaseAsked              // one small chunk is under way; its answer says where to go on
	phaseOpen               // a window of chunks may be under way
)

// newRelay begins at acked, which is what an orchestrator without log_ack got
// already; one with it knows better and says so.
func newRelay(runID string, attempt int, path string, base, acked int64, now func() time.Time) *relay {
	return &relay{
		runID: runID, attempt: attempt, path: path, base: base, now: now,
		acked: acked, wake: make(chan struct{}, 1), end: -1, most: math.MaxInt64,
	}
}

// size is how many bytes the attempt has written so far.
func (r *relay) size() int64 {
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end >= 0 {
		return end
	}
	return min(max(fileSize(r.path)-r.base, 0), r.most) // 0: not begun yet
}

// length is the attempt's final length; 0 when there is no log.
func (r *relay) length() int64 {
	if r == nil {
		return 0
	}
	return max(r.size(), 0)
}

// finish says that the attempt's log has its final length.
func (r *relay) finish(end int64) {
	r.mu.Lock()
	r.end = end
	if r.link != nil {
		r.stuckFrom = r.link.answeredFor()
	}
	r.mu.Unlock()
	r.wakeUp()
}

// caught reports whether the orchestrator has the whole log of an ended attempt.
func (r *relay) caught() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.end < 0:
		return false
	case r.lost:
		return !r.endAt.IsZero() // nothing is left to wait for
	case r.link != nil && r.link.can(wire.CapLogEnd):
		return r.complete
	default:
		return r.end == 0 || r.acked >= r.end && r.confirmed()
	}
}

// caughtOn reports whether the orchestrator at the other end of a connection has the whole log. What another one had says nothing.
func (r *relay) caughtOn(l *link) bool {
	r.mu.Lock()
	here := r.link == l
	r.mu.Unlock()
	return here && r.caught()
}

// whole is the length of an ended log, if all of it can be relayed.
func (r *relay) whole() (end int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end, r.end >= 0 && !r.lost
}

// stuck reports whether the orchestrator has taken nothing of the log for so long, though it answers on
// the connection. The time in which it is frozen, or nothing passes, does not count: whatever was sent
// may still arrive.
func (r *relay) stuck(l *link, after time.Duration) bool {
	answering := l.answering()
	r.mu.Lock()
	defer r.mu.Unlock()
	return l == r.link && answering-r.stuckFrom >= after
}

// beginAnew forgets for how long nothing of the log was taken: the orchestrator could not take anything.
func (r *relay) beginAnew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.link != nil {
		r.stuckFrom = r.link.answeredFor()
	}
}

// confirmed reports whether acked is the word of an orchestrator and not a memory.
func (r *relay) confirmed() bool {
	return r.link != nil && (r.phase == phaseOpen || !r.link.can(wire.CapLogAck))
}

func (r *relay) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ack takes the place where the orchestrator's copy ends, and whether that is all it wants.
func (r *relay) ack(l *link, offset int64, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l != r.link || offset < 0 {
		return
	}
	if complete && !r.endAt.IsZero() { // else it is about a length of before
		r.complete = true
	}
	if offset > r.acked || r.complete {
		r.stuckFrom = l.answeredFor()
	}
	switch {
	case r.phase == phaseOpen && offset == r.acked && r.rewound:
		return
	case r.phase == phaseOpen && offset > r.acked && offset <= r.sent:
		r.acked, r.rewound = offset, false
	default: // the answer to the question; or a place that is ahead, or back
		r.rewound = r.phase == phaseOpen && offset <= r.acked
		r.acked, r.sent = offset, offset
	}
	r.phase, r.moved = phaseOpen, time.Now()
	r.wakeUp()
}

// next decides what may be sent on l: from where, and how many bytes at most.
// None means that there is nothing to send now.
func (r *relay) next(l *link, size int64) (offset, most int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stalled := r.sent > r.acked && r.queued == 0 && time.Since(r.moved) > stallAfter
	if l != r.link {
		r.queued, r.complete, r.stuckFrom = 0, false, l.answeredFor()
	}
	if l != r.link || stalled {
		// What was under way is asked for anew. Nothing is known for sure.
		r.link, r.phase, r.sent, r.rewound, r.moved = l, phaseAsk, r.acked, false, time.Now()
		r.endAt = time.Time{}
	}
	if r.complete || r.lost {
		return r.sent, 0
	}
	if !l.can(wire.CapLogAck) {
		return r.sent, max(min(size-r.sent, chunkMost), 0)
	}
	switch r.phase {
	case phaseAsk:
		if size > 0 && r.sent >= size {
			r.sent, r.acked = size-1, size-1 // there must be a byte to ask with
		}
		most = min(size-r.sent, askMost)
	case phaseAsked:
		most = 0
	case phaseOpen:
		most = min(size-r.sent, chunkMost, r.acked+l.window()-r.sent)
	}
	return r.sent, max(most, 0)
}

// sending notes that the bytes from one offset to the other are on their way.
// False means that an answer moved the relay meanwhile: they must not go.
func (r *relay) sending(l *link, from, to int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l != r.link || r.sent != from {
		return false
	}
	if r.sent == r.acked {
		r.moved = time.Now() // the clock of a stall starts with what is under way
	}
	r.sent = to
	r.queued++
	if r.phase == phaseAsk {
		r.phase = phaseAsked
	}
	if !l.can(wire.CapLogAck) {
		r.acked = to
	}
	return true
}

// tellEnd reports whether the log's final length is to be told on l now: after its last byte, and again
// when no answer came. gone says that not all of it can follow.
func (r *relay) tellEnd(l *link) (end int64, gone, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case l != r.link || r.end < 0 || r.complete || !l.can(wire.CapLogEnd):
		return 0, false, false
	case !r.endAt.IsZero() && time.Since(r.endAt) <= stallAfter:
		return 0, false, false
	case r.end > 0 && !r.lost && (r.phase != phaseOpen || r.sent < r.end):
		return 0, false, false
	}
	r.endAt = time.Now()
	return r.end, r.lost, true
}

// lose takes note of a log whose file on this host is shorter than it was: what is not here any more
// cannot be waited for. It answers how many bytes are missing.
func (r *relay) lose(size int64) (missing int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end < 0 || size >= r.end || r.lost {
		return 0
	}
	r.lost, r.endAt = true, time.Time{}
	return r.end - size
}

// again asks the orchestrator anew how much it has: it says that it has lost a part.
func (r *relay) again() {
	r.mu.Lock()
	r.link = nil
	r.mu.Unlock()
	r.wakeUp()
}

// written notes that a chunk has left: from now on its answer may be waited for.
func (r *relay) written(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l == r.link {
		r.queued--
		r.moved = time.Now()
	}
}
