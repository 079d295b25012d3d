package worker

import (
	"math"
	"os"
	"sync"
	"time"

	"svc/wire"
)

// The sizes and the timeout of the log relay.
const (
	chunkMost  = 64 << 10        // raw bytes of a chunk
	askMost    = 4 << 10         // of the first chunk on a connection, whose acknowledgement has the offset to continue at
	stallAfter = 5 * time.Second // after this long without progress, unacknowledged bytes are sent again

	// The limits of a run's unacknowledged bytes. Keys are queued behind the bytes that are under way, so the
	// limit is lower while terminals are attached, and lowest while keys are typed.
	windowAlone    = 256 << 10
	windowAttached = 64 << 10
	windowTyping   = 16 << 10
)

// relay sends the log of one attempt as a byte stream. The orchestrator keeps the offset: it accepts a chunk
// only where its own copy ends, and acknowledges with that offset. The relay continues at the acknowledged
// offset, whether it is ahead or back, so no byte is lost or repeated, whichever side restarts. All offsets
// count from the attempt's first byte, not from the beginning of the file.
type relay struct {
	runID   string
	attempt int
	path    string
	base    int64 // the attempt's first byte in the file
	most    int64 // limit of the relayed bytes; svc did not write what is beyond it
	now     func() time.Time
	wake    chan struct{} // holds one token when there may be something to do

	file  os.FileInfo // the log file that was first read; another file in its place is not read; only run uses it
	times timesReader // only run uses it

	mu    sync.Mutex // guards the fields below
	link  *link      // the connection that the fields below refer to
	phase phase
	sent  int64
	acked int64
	// rewound is set when the orchestrator sent the relay back. Until there is progress, more acknowledgements
	// of the same offset belong to earlier chunks and are ignored.
	rewound bool
	moved   time.Time // when the relay last made progress
	queued  int       // chunks in the outbox: while there are any, the relay is not stalled
	end     int64     // the attempt's length; -1 while it may still grow
	endAt   time.Time // when that length was last sent on the connection; zero: it was not
	// complete is set when the orchestrator reported on this connection that it has the whole log.
	complete bool
	cut      bool // the log is shorter than what was relayed of it; errCut was returned
	lost     bool // the rest of the log is not on this host any more
	// stuckFrom is the value of link.answeredFor when the orchestrator last accepted a byte, or when the log
	// got its final length.
	stuckFrom time.Duration
}

// phase is the state of a relay on a connection.
type phase int

const (
	phaseAsk   phase = iota // nothing was sent yet
	phaseAsked              // one small chunk is under way; its acknowledgement has the offset to continue at
	phaseOpen               // a window of chunks may be under way
)

// newRelay returns a relay that begins at acked, the bytes that an orchestrator without log_ack has received
// already. An orchestrator with log_ack reports its own offset.
func newRelay(runID string, attempt int, path string, base, acked int64, now func() time.Time) *relay {
	return &relay{
		runID: runID, attempt: attempt, path: path, base: base, now: now,
		acked: acked, wake: make(chan struct{}, 1), end: -1, most: math.MaxInt64,
	}
}

// size returns how many bytes the attempt has written so far.
func (r *relay) size() int64 {
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end >= 0 {
		return end
	}
	return min(max(fileSize(r.path)-r.base, 0), r.most) // 0: not begun yet
}

// length returns the attempt's final length; 0 when there is no log.
func (r *relay) length() int64 {
	if r == nil {
		return 0
	}
	return max(r.size(), 0)
}

// finish sets the final length of the attempt's log.
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
		return !r.endAt.IsZero() // the rest cannot be sent any more
	case r.link != nil && r.link.can(wire.CapLogEnd):
		return r.complete
	default:
		return r.end == 0 || r.acked >= r.end && r.confirmed()
	}
}

// caughtOn reports whether the orchestrator on this connection has the whole log. What another orchestrator had
// does not count.
func (r *relay) caughtOn(l *link) bool {
	r.mu.Lock()
	here := r.link == l
	r.mu.Unlock()
	return here && r.caught()
}

// whole returns the length of an ended log; ok is false when the log has not ended or a part of it is lost.
func (r *relay) whole() (end int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end, r.end >= 0 && !r.lost
}

// stuck reports whether the orchestrator has answered on the connection for this long without accepting a byte
// of the log. Time in which it is frozen or unreachable does not count: bytes that were sent may still arrive.
func (r *relay) stuck(l *link, after time.Duration) bool {
	answering := l.answering()
	r.mu.Lock()
	defer r.mu.Unlock()
	return l == r.link && answering-r.stuckFrom >= after
}

// beginAnew restarts the time for stuck: the orchestrator could not accept anything.
func (r *relay) beginAnew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.link != nil {
		r.stuckFrom = r.link.answeredFor()
	}
}

// confirmed reports whether acked comes from the orchestrator on this connection. The caller holds the lock.
func (r *relay) confirmed() bool {
	return r.link != nil && (r.phase == phaseOpen || !r.link.can(wire.CapLogAck))
}

func (r *relay) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// ack handles an acknowledgement: the offset at which the orchestrator's copy ends, and whether the copy is
// complete.
func (r *relay) ack(l *link, offset int64, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l != r.link || offset < 0 {
		return
	}
	if complete && !r.endAt.IsZero() { // otherwise it refers to an earlier length
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
	default: // the answer to the first chunk, or an offset that is ahead or back
		r.rewound = r.phase == phaseOpen && offset <= r.acked
		r.acked, r.sent = offset, offset
	}
	r.phase, r.moved = phaseOpen, time.Now()
	r.wakeUp()
}

// next decides what may be sent on l: from which offset, and how many bytes at most. 0 bytes mean that nothing
// may be sent now.
func (r *relay) next(l *link, size int64) (offset, most int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stalled := r.sent > r.acked && r.queued == 0 && time.Since(r.moved) > stallAfter
	if l != r.link {
		r.queued, r.complete, r.stuckFrom = 0, false, l.answeredFor()
	}
	if l != r.link || stalled {
		// Bytes that were under way may be lost, so the relay asks for the offset again.
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
			r.sent, r.acked = size-1, size-1 // asking for the offset takes at least one byte
		}
		most = min(size-r.sent, askMost)
	case phaseAsked:
		most = 0
	case phaseOpen:
		most = min(size-r.sent, chunkMost, r.acked+l.window()-r.sent)
	}
	return r.sent, max(most, 0)
}

// sending records that the bytes between two offsets are queued. It returns false when an acknowledgement has
// moved the relay meanwhile; then they must not be sent.
func (r *relay) sending(l *link, from, to int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l != r.link || r.sent != from {
		return false
	}
	if r.sent == r.acked {
		r.moved = time.Now() // the stall timer starts when the first bytes are under way
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

// tellEnd reports whether the log's final length is to be sent on l now: after the last byte, and again when no
// answer came. gone reports that a part of the log is missing on this host.
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

// lose handles a log whose file is shorter than its final length: the missing part cannot be sent any more. It
// returns how many bytes are missing.
func (r *relay) lose(size int64) (missing int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end < 0 || size >= r.end || r.lost {
		return 0
	}
	r.lost, r.endAt = true, time.Time{}
	return r.end - size
}

// again makes the relay ask for the orchestrator's offset again: the orchestrator has reported that it lost a
// part.
func (r *relay) again() {
	r.mu.Lock()
	r.link = nil
	r.mu.Unlock()
	r.wakeUp()
}

// written records that a chunk was written to the connection: its acknowledgement can be expected from now on.
func (r *relay) written(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l == r.link {
		r.queued--
		r.moved = time.Now()
	}
}
