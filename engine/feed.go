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

// feed follows the journal: one reader per process takes each event once,
// encodes it once and keeps the newest in a ring. Subscribers are nothing but
// positions: each takes what lies behind its own seq, from the ring or, when
// it is further back, from the journal. So there is no hand-over between
// replay and live in which an event could be lost or seen twice.
type feed struct {
	store *store.Store
	log   *slog.Logger

	mu      sync.RWMutex // guards the rest
	ring    []message    // consecutive seqs, the newest last
	news    chan struct{}
	stopped bool
}

// message is an event as the stream sends it.
type message struct {
	seq   int64
	topic svc.Topic
	bytes []byte
}

const (
	ringSize  = 8192
	feedPage  = 1000
	feedPoll  = time.Second // a wake-up may be lost, or come from another process
	chunkSize = 64 << 10    // of one Next
)

func newFeed(s *store.Store, log *slog.Logger) *feed {
	return &feed{store: s, log: log, news: make(chan struct{})}
}

// start notes where the journal ends now; run goes on from there.
func (f *feed) start(ctx context.Context) error {
	head, _, err := f.store.JournalEnds(ctx)
	if err != nil {
		return err
	}
	f.ring = []message{{seq: head}} // its position counts, nobody reads it
	return nil
}

func (f *feed) run(ctx context.Context) error {
	defer f.stop()
	poll := time.NewTicker(feedPoll)
	defer poll.Stop()
	for {
		committed := f.store.Committed() // before reading: no commit is missed
		for {
			n, err := f.take(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				f.log.Error("the journal cannot be read; trying again", "error", err)
				break
			}
			if n < feedPage {
				break
			}
		}
		select {
		case <-committed:
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// take reads the next page of the journal into the ring.
func (f *feed) take(ctx context.Context) (int, error) {
	events, err := f.store.EventsAfter(ctx, f.head(), feedPage)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	fresh := make([]message, len(events))
	for i, e := range events {
		fresh[i] = encodeEvent(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ring[len(f.ring)-1].seq+1 != fresh[0].seq {
		f.ring = nil // a purge overtook us; what follows is consecutive again
	}
	f.ring = append(f.ring, fresh...)
	if extra := len(f.ring) - ringSize; extra > ringSize/4 {
		f.ring = append(make([]message, 0, ringSize+ringSize/2), f.ring[extra:]...)
	}
	close(f.news)
	f.news = make(chan struct{})
	return len(events), nil
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
	b = append(b, e.Payload...)
	b = append(b, "\n\n"...)
	return message{seq: e.Seq, topic: e.Topic, bytes: b}
}

// Subscription is one reader of the event stream.
type Subscription struct {
	engine   *Engine
	globs    svc.Globs
	last     int64 // everything up to here was given
	snapshot bool  // the reader needs the whole state first
	buf      []byte
}

// Subscribe begins a stream: behind the cursor, or from now on when it is nil.
// A cursor whose events were purged, or that the journal never reached, gets a
// snapshot first.
func (e *Engine) Subscribe(ctx context.Context, cursor *int64, globs svc.Globs) (*Subscription, error) {
	head, purged, err := e.Store.JournalEnds(ctx)
	if err != nil {
		return nil, err
	}
	s := &Subscription{engine: e, globs: globs, last: head}
	if cursor != nil {
		s.last = *cursor
		s.snapshot = *cursor < purged || *cursor > head
	}
	return s, nil
}

// Next is the next part of the stream: whole messages, as many as are there.
// The bytes are good until the next call. It ends with io.EOF when the engine
// stops.
func (s *Subscription) Next(ctx context.Context) ([]byte, error) {
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
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take reads what is there. Without anything it gives what to wait for, or nil
// when there may be more at once.
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
	if !s.globs.Match(m.topic) {
		return buf
	}
	return append(buf, m.bytes...)
}

// replay reads a page of the journal itself, for a reader that is further back
// than the ring.
func (s *Subscription) replay(ctx context.Context) ([]byte, error) {
	events, err := s.engine.Store.EventsAfter(ctx, s.last, feedPage)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 || events[0].Seq != s.last+1 {
		s.snapshot = true // purged under our feet
		return nil, nil
	}
	s.buf = s.buf[:0]
	for _, e := range events {
		s.buf = s.add(s.buf, encodeEvent(e))
	}
	return s.buf, nil
}

// snapshotOthers is how many ended runs a snapshot has.
const snapshotOthers = 200

// takeSnapshot is one message with the whole state, and the seq it is true at.
func (s *Subscription) takeSnapshot(ctx context.Context) ([]byte, error) {
	var head int64
	state := struct {
		Projects  []svc.Project  `json:"projects"`
		WorkItems []svc.WorkItem `json:"work_items"`
		Runs      []svc.Run      `json:"runs"`
		Hosts     []svc.Host     `json:"hosts"`
	}{}
	err := s.engine.Store.View(ctx, func(r store.Reader) (err error) {
		if head, _, err = r.JournalEnds(ctx); err != nil {
			return err
		}
		if state.Projects, state.WorkItems, err = r.OpenWork(ctx); err != nil {
			return err
		}
		if state.Runs, err = r.SnapshotRuns(ctx, snapshotOthers); err != nil {
			return err
		}
		state.Hosts, err = r.AllHosts(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range state.Hosts {
		s.engine.hosts.overlay(&state.Hosts[i])
	}
	for i := range state.Runs {
		s.engine.lookAt(&state.Runs[i])
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode a snapshot: %w", err)
	}
	s.last, s.snapshot = head, false
	return encodeEvent(svc.Event{Seq: head, Topic: "snapshot", Payload: data}).bytes, nil
}

// Events is a page of the journal, newest first.
func (e *Engine) Events(ctx context.Context, globs svc.Globs, page svc.Page) (svc.List[svc.Event], error) {
	return e.Store.Events(ctx, globs, page)
}
