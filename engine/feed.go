package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"svc"
	"svc/store"
)

// feed follows the journal: one reader per process reads each event once, encodes it once and keeps the newest in a
// ring. A subscriber is only a position: it reads the events after its own seq, from the ring or, when it is further
// back, from the journal. So there is no hand-over between replay and live in which an event could be lost or
// repeated.
type feed struct {
	store    *store.Store
	log      *slog.Logger
	poll     time.Duration
	hint     *wake             // another process has written to the journal
	onEvents func([]svc.Event) // called with every event once; nil: not used

	mu      sync.RWMutex // guards the rest
	ring    []message    // consecutive seqs, the newest last
	bytes   int          // total of the messages' bytes
	news    chan struct{}
	stopped bool
}

// message is an event in the form that the stream sends.
type message struct {
	seq     int64
	topic   svc.Topic
	bytes   []byte
	payload []byte // a slice of bytes
}

const (
	ringSize  = 8192
	ringBytes = 8 << 20 // limit of feed.bytes
	feedPage  = 1000
	feedBytes = 2 << 20     // of payloads in a page
	feedPoll  = time.Second // for wake-ups that were lost
	chunkSize = 64 << 10    // of one Next
)

func newFeed(s *store.Store, log *slog.Logger) *feed {
	return &feed{store: s, log: log, poll: feedPoll, hint: newWake(), news: make(chan struct{})}
}

// start reads where the journal ends now; run continues from there.
func (f *feed) start(ctx context.Context) error {
	head, _, err := f.store.JournalEnds(ctx)
	if err != nil {
		return err
	}
	f.ring = []message{{seq: head}} // only its seq is used: it is never sent
	return nil
}

func (f *feed) run(ctx context.Context) error {
	defer f.stop()
	poll := time.NewTicker(f.poll)
	defer poll.Stop()
	failing := false
	for {
		committed := f.store.Committed() // before reading, so that no commit is missed
		for {
			more, err := f.take(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil && !failing {
				f.log.Error("the journal cannot be read; trying again", "error", err)
			}
			if failing = err != nil; failing {
				break
			}
			if !more {
				break
			}
		}
		select {
		case <-committed:
		case <-f.hint.c:
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// take reads the next page of the journal into the ring, and reports whether there may be another.
func (f *feed) take(ctx context.Context) (more bool, err error) {
	events, more, err := f.store.NewEvents(ctx, f.head(), feedPage, feedBytes)
	if err != nil || len(events) == 0 {
		return false, err
	}
	if f.onEvents != nil {
		f.onEvents(events)
	}
	fresh := make([]message, len(events))
	for i, e := range events {
		fresh[i] = encodeEvent(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ring[len(f.ring)-1].seq+1 != fresh[0].seq {
		f.ring, f.bytes = nil, 0 // a purge removed events that were not read yet; the rest is consecutive again
	}
	f.ring = append(f.ring, fresh...)
	for _, m := range fresh {
		f.bytes += len(m.bytes)
	}
	f.shorten()
	close(f.news)
	f.news = make(chan struct{})
	return more, nil
}

// shorten drops the oldest messages when there are too many or they are too large. It always keeps the newest.
func (f *feed) shorten() {
	extra := 0
	if more := len(f.ring) - ringSize; more > ringSize/4 {
		extra = more
	}
	for _, m := range f.ring[:extra] {
		f.bytes -= len(m.bytes)
	}
	for f.bytes > ringBytes && extra < len(f.ring)-1 {
		f.bytes -= len(f.ring[extra].bytes)
		extra++
	}
	if extra > 0 {
		f.ring = append(make([]message, 0, ringSize+ringSize/2), f.ring[extra:]...)
	}
}

func (f *feed) head() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.ring[len(f.ring)-1].seq
}

func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	close(f.news)
	f.news = make(chan struct{})
}

func encodeEvent(e svc.Event) message {
	b := make([]byte, 0, len(e.Payload)+len(e.Topic)+48)
	b = append(b, "id: "...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, "\nevent: "...)
	b = append(b, e.Topic...)
	b = append(b, "\ndata: "...)
	begin := len(b)
	b = append(b, e.Payload...)
	end := len(b)
	b = append(b, "\n\n"...)
	return message{seq: e.Seq, topic: e.Topic, bytes: b, payload: b[begin:end]}
}

// Subscription is one reader of the event stream.
type Subscription struct {
	engine   *Engine
	filter   svc.EventFilter
	last     int64 // everything up to this seq was returned
	snapshot bool  // the reader first needs the whole state
	buf      []byte

	// Heartbeat, when not 0, is how long a quiet stream waits before it sends a comment line. A reader that misses
	// several can assume that the connection is dead.
	Heartbeat time.Duration
}

// heartbeat is a comment of server-sent events; clients do not treat it as a message.
var heartbeat = []byte(":\n\n")

// Subscribe begins a stream after the cursor, or from now on when the cursor is nil. The stream begins with a
// snapshot if the cursor's events were purged, or if the journal never reached the cursor.
func (e *Engine) Subscribe(ctx context.Context, cursor *int64, f svc.EventFilter) (*Subscription, error) {
	head, purged, err := e.Store.JournalEnds(ctx)
	if err != nil {
		return nil, err
	}
	s := &Subscription{engine: e, filter: f, last: head}
	if cursor != nil {
		s.last = *cursor
		s.snapshot = *cursor < purged || *cursor > head
	}
	return s, nil
}

// Next returns the next part of the stream: as many whole messages as are available. It waits until there is at least
// one. The bytes are valid until the next call. It returns io.EOF when the engine stops.
func (s *Subscription) Next(ctx context.Context) ([]byte, error) {
	var quiet <-chan time.Time
	if s.Heartbeat > 0 {
		timer := time.NewTimer(s.Heartbeat)
		defer timer.Stop()
		quiet = timer.C
	}
	for {
		if s.snapshot {
			return s.takeSnapshot(ctx)
		}
		out, wait, err := s.take(ctx)
		if err != nil || len(out) > 0 {
			return out, err
		}
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-quiet:
			return heartbeat, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the available messages. If there are none, it returns a channel to wait for, or nil when the caller
// should call it again at once.
func (s *Subscription) take(ctx context.Context) (out []byte, wait <-chan struct{}, err error) {
	f := s.engine.feed
	f.mu.RLock()
	first, last, news, stopped := f.ring[0].seq, f.ring[len(f.ring)-1].seq, f.news, f.stopped
	if s.last >= last {
		f.mu.RUnlock()
		if stopped {
			return nil, nil, io.EOF
		}
		return nil, news, nil
	}
	if s.last+1 < first || f.ring[0].bytes == nil && s.last < first {
		f.mu.RUnlock()
		out, err = s.replay(ctx)
		return out, nil, err
	}
	pending := f.ring[s.last+1-first:]
	f.mu.RUnlock() // the ring's messages are never changed, only dropped
	s.buf = s.buf[:0]
	for _, m := range pending {
		s.buf = s.add(s.buf, m)
		if len(s.buf) >= chunkSize {
			break
		}
	}
	return s.buf, nil, nil
}

func (s *Subscription) add(buf []byte, m message) []byte {
	s.last = m.seq
	if !s.filter.Match(m.topic, m.payload) {
		return buf
	}
	return append(buf, m.bytes...)
}

// replay reads a page of the journal itself, for a reader that is further back than the ring.
func (s *Subscription) replay(ctx context.Context) ([]byte, error) {
	if s.filter.Subjects != (svc.Subjects{}) {
		return s.replaySubject(ctx)
	}
	events, _, err := s.engine.Store.EventsPage(ctx, s.last, feedPage, feedBytes)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 || events[0].Seq != s.last+1 {
		s.snapshot = true // the events were purged meanwhile
		return nil, nil
	}
	s.buf = s.buf[:0]
	for _, e := range events {
		s.buf = s.add(s.buf, encodeEvent(e))
	}
	return s.buf, nil
}

// replaySubject reads a page of the events about the reader's subjects, even if they are far apart in the journal.
func (s *Subscription) replaySubject(ctx context.Context) ([]byte, error) {
	events, head, purged, err := s.engine.Store.EventsOfAfter(ctx, s.filter, s.last, feedPage, feedBytes)
	if err != nil {
		return nil, err
	}
	if s.last < purged {
		s.snapshot = true
		return nil, nil
	}
	s.buf = s.buf[:0]
	for _, e := range events {
		s.buf = s.add(s.buf, encodeEvent(e))
	}
	s.last = head
	return s.buf, nil
}

// snapshotOthers is the maximum number of ended runs in a snapshot.
const snapshotOthers = 200

// takeSnapshot returns one message with the whole state, and sets the seq at which that state is true.
func (s *Subscription) takeSnapshot(ctx context.Context) ([]byte, error) {
	var head int64
	var state svc.Snapshot
	err := s.engine.Store.View(ctx, func(r store.Reader) (err error) {
		if head, _, err = r.JournalEnds(ctx); err != nil {
			return err
		}
		if state.Projects, state.WorkItems, err = r.OpenWork(ctx); err != nil {
			return err
		}
		runs, err := r.SnapshotRuns(ctx, snapshotOthers)
		if err != nil {
			return err
		}
		state.Runs = s.engine.summaries(runs)
		state.Hosts, err = r.AllHosts(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range state.Hosts {
		s.engine.hosts.overlay(&state.Hosts[i])
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode a snapshot: %w", err)
	}
	s.last, s.snapshot = head, false
	return encodeEvent(svc.Event{Seq: head, Topic: "snapshot", Payload: data}).bytes, nil
}

// Events returns a page of the journal, newest first.
func (e *Engine) Events(ctx context.Context, f svc.EventFilter, page svc.Page) (svc.EventList, error) {
	list, err := e.Store.Events(ctx, f, page)
	if p := list.PurgedBefore; p != nil && *p == 0 {
		*p = e.now()
	}
	return list, err
}

// pageUnit and pageBytes limit what one call of EventsAfter reads.
const (
	pageUnit  = 200
	pageBytes = 1 << 20
)

// EventsAfter returns the next events after seq that pass the filter, oldest first. until is the seq up to which
// there are no others.
func (e *Engine) EventsAfter(ctx context.Context, f svc.EventFilter, seq int64) (events []svc.Event, until int64, err error) {
	events, until, _, err = e.Store.EventsOfAfter(ctx, f, seq, pageUnit, pageBytes)
	return events, until, err
}

// fillSubjects adds subjects to old events, from before the journal had columns for them, so that they can be found
// by subject. It uses at most half of the writer's time.
func (e *Engine) fillSubjects(ctx context.Context) error {
	for ctx.Err() == nil {
		began := time.Now()
		more, err := e.Store.FillSubjects(ctx)
		pause := time.Since(began)
		switch {
		case err != nil && ctx.Err() == nil:
			e.Log.Warn("the subjects of old events cannot be filled; trying again", "error", err)
			pause = time.Minute
		case err == nil && !more:
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}
