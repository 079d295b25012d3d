package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"svc"
	"svc/hub"
	"svc/internal/clocktest"
	"svc/internal/pgtest"
	"svc/store"
	"svc/store/storetest"
	"svc/wire"
)

// suite stops the tests' PostgreSQL server before the check for leaks.
type suite struct{ m *testing.M }

func (s suite) Run() int { return pgtest.Main(s.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// site is an engine on a real SQLite database. Its tests run in a bubble and move the bubble's clock: timeouts have
// their real values, and no test waits for one.
type site struct {
	t *testing.T
	*Engine
	ctx  context.Context
	stop func() // ends Serve and waits for it
	seen int64
}

// bubble runs a test with a serving engine in a bubble of its own.
func bubble(t *testing.T, test func(s *site), options ...func(*Config)) {
	t.Parallel()
	dir := t.TempDir() // outside the bubble: it is removed when everything has stopped
	synctest.Test(t, func(t *testing.T) { test(start(t, dir, options...)) })
}

// start opens the database in dir and serves an engine on it until the test
// ends or stop is called.
func start(t *testing.T, dir string, options ...func(*Config)) *site {
	t.Helper()
	return startWith(t, dir, store.Options{}, options...)
}

// startWith is start on a store with options of its own.
func startWith(t *testing.T, dir string, o store.Options, options ...func(*Config)) *site {
	t.Helper()
	st, err := store.Open(t.Context(), storetest.Fresh(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(failOnError{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	c := Config{Store: st, Hub: hub.New(filepath.Join(dir, "relay"), log), Log: log, DispatchTimeout: 5 * time.Minute,
		AckTimeout: 15 * time.Second, OfflineAfter: 90 * time.Second, OutputInterval: 5 * time.Second, EventsDays: 30, RelayDays: 30,
		SigningKey: []byte("0123456789abcdef")}
	for _, o := range options {
		o(&c)
	}
	e, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	s := &site{t: t, Engine: e, ctx: t.Context(), stop: sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})}
	t.Cleanup(s.stop)
	head, _, err := st.JournalEnds(t.Context())
	s.no(err)
	s.seen = head
	return s
}

// failOnError fails a test in which the engine logs an error: these tests expect no internal errors.
type failOnError struct{ t *testing.T }

func (f failOnError) Write(b []byte) (int, error) {
	f.t.Errorf("the engine logged: %s", b)
	return len(b), nil
}

func (s *site) no(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) wantCode(what string, err error, want svc.Code) {
	s.t.Helper()
	if got := svc.CodeOf(err); got != want {
		s.t.Errorf("%s: code %q, want %q (%v)", what, got, want, err)
	}
}

// settle waits until every goroutine of the bubble is blocked.
func (s *site) settle() { synctest.Wait() }

// pass moves the clock.
func (s *site) pass(d time.Duration) {
	clocktest.Pass(d)
	synctest.Wait()
}

// news returns the events that were journaled since the last call.
func (s *site) news() []svc.Event {
	s.t.Helper()
	s.settle()
	events, err := s.Store.EventsAfter(s.ctx, s.seen, 1<<20)
	s.no(err)
	for _, e := range events {
		if e.Seq != s.seen+1 {
			s.t.Fatalf("seq %d follows %d", e.Seq, s.seen)
		}
		s.seen = e.Seq
		s.checkRunEvent(e)
	}
	return events
}

// checkRunEvent checks that an event of a run has the run's id and attempt. A session that has no record has neither.
func (s *site) checkRunEvent(e svc.Event) {
	s.t.Helper()
	if !strings.HasPrefix(string(e.Topic), "run.") || e.Topic == svc.TopicRunOrphan && field(e, "run_id") == nil {
		return
	}
	id, _ := field(e, "run_id").(string)
	if attempt, _ := field(e, "attempt").(float64); !svc.IsID(id) || attempt < 1 {
		s.t.Errorf("%s does not say which run and attempt: %s", e.Topic, e.Payload)
	}
}

// wantTopics checks the topics of the events that were journaled since the last call.
func (s *site) wantTopics(topics ...svc.Topic) []svc.Event {
	s.t.Helper()
	events := s.news()
	got := make([]svc.Topic, len(events))
	for i, e := range events {
		got[i] = e.Topic
	}
	if !slices.Equal(got, topics) {
		s.t.Errorf("journaled %v, want %v", got, topics)
	}
	return events
}

// field returns a field of an event's payload.
func field(e svc.Event, name string) any {
	var p map[string]any
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return err
	}
	return p[name]
}

func (s *site) project() svc.Project {
	s.t.Helper()
	p, err := s.CreateProject(s.ctx, svc.NewProject{Name: "p", Cwd: "/project"})
	s.no(err)
	return p
}

func (s *site) task(p svc.Project, change ...func(*svc.NewWorkItem)) svc.WorkItem {
	s.t.Helper()
	n := svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "t"}
	for _, c := range change {
		c(&n)
	}
	w, err := s.CreateWorkItem(s.ctx, n)
	s.no(err)
	return w
}

// run admits a run on a task of its own and discards the events up to then.
func (s *site) run(change ...func(*svc.NewRun)) svc.Run {
	s.t.Helper()
	n := svc.NewRun{Provider: "provider_a"}
	for _, c := range change {
		c(&n)
	}
	if n.TaskID == "" {
		n.TaskID = s.task(s.project()).ID
	}
	r, err := s.CreateRun(s.ctx, n)
	s.no(err)
	return r
}

func (s *site) get(r svc.Run) svc.Run {
	s.t.Helper()
	s.settle()
	got, err := s.Run(s.ctx, r.ID)
	s.no(err)
	return got
}

func (s *site) wantStatus(r svc.Run, want svc.RunStatus) svc.Run {
	s.t.Helper()
	got := s.get(r)
	if got.Status != want {
		s.t.Errorf("the run is %s, want %s", got.Status, want)
	}
	return got
}

// signal posts a signal of the run's attempt.
func (s *site) signal(r svc.Run, kind svc.SignalKind, change ...func(*svc.Signal)) (svc.Outcome, error) {
	sig := svc.Signal{RunID: r.ID, Kind: kind, Attempt: r.Attempt, Source: svc.FromWrapper, Timestamp: 1, Via: "http"}
	if kind == svc.SignalCompleted {
		sig.Result = svc.ResultSuccess
	}
	for _, c := range change {
		c(&sig)
	}
	return s.Ingest(s.ctx, sig)
}

func (s *site) want(outcome svc.Outcome) func(svc.Outcome, error) {
	return func(got svc.Outcome, err error) {
		s.t.Helper()
		if err != nil || got != outcome {
			s.t.Errorf("outcome %q (%v), want %q", got, err, outcome)
		}
	}
}

// worker is a scripted worker at the other end of a real uplink.
type worker struct {
	s        *site
	host     svc.Host
	instance string
	conn     wire.Conn
	ended    chan error // what ServeUplink returned

	mu   sync.Mutex // guards the rest
	got  []wire.Frame
	when []time.Time // arrival times of got
}

// newHost creates a host whose worker has every capability but is not connected.
func (s *site) newHost(name string, change ...func(*svc.NewHost)) *worker {
	s.t.Helper()
	n := svc.NewHost{Name: name}
	for _, c := range change {
		c(&n)
	}
	h, err := s.CreateHost(s.ctx, n)
	s.no(err)
	return &worker{s: s, host: h, instance: svc.NewID()}
}

// online creates a host whose worker is connected and has sent a heartbeat.
func (s *site) online(name string, change ...func(*svc.NewHost)) *worker {
	s.t.Helper()
	w := s.newHost(name, change...)
	w.register(wire.Capabilities...)
	w.connect()
	w.beat()
	s.settle()
	return w
}

func (w *worker) register(caps ...string) wire.Registered {
	w.s.t.Helper()
	answer, err := w.s.Register(w.s.ctx, wire.Registration{HostName: w.host.Name, Platform: "test", InstanceID: w.instance, Capabilities: caps}, "")
	w.s.no(err)
	return answer
}

// connect opens an uplink as a plain peer, which is identified by its first heartbeat.
func (w *worker) connect() {
	here, there := wire.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.s.ServeUplink(w.s.ctx, there, Hello{}) }()
	go func() {
		for {
			b, err := here.Read(context.Background())
			if err != nil {
				return
			}
			f, err := wire.DecodeDown(b)
			if err != nil {
				w.s.t.Errorf("the engine sent %s: %v", b, err)
				return
			}
			w.mu.Lock()
			if f.Type() != "heartbeat_ack" {
				w.got, w.when = append(w.got, f), append(w.when, time.Now())
			}
			w.mu.Unlock()
		}
	}()
	w.conn, w.ended = here, ended
	w.s.t.Cleanup(func() { _ = here.Close("") })
}

// drop closes the connection and waits until the engine has noticed.
func (w *worker) drop() {
	_ = w.conn.Close("")
	<-w.ended
	w.conn = nil
}

func (w *worker) send(f wire.Frame) {
	w.s.t.Helper()
	b, err := wire.Encode(f)
	w.s.no(err)
	w.s.no(w.conn.Write(w.s.ctx, b))
}

func (w *worker) beat() {
	w.s.t.Helper()
	w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
}

func (w *worker) ack(r svc.Run, accepted bool) {
	w.s.t.Helper()
	w.s.settle() // the dispatch arrives first
	w.send(wire.RunDispatchAck{RunID: r.ID, Attempt: r.Attempt, Accepted: accepted})
	w.s.settle()
}

// take returns the frames that arrived since the last call, except heartbeat acknowledgements.
func (w *worker) take() []wire.Frame {
	frames, _ := w.takeTimed()
	return frames
}

// takeTimed also returns when each frame arrived.
func (w *worker) takeTimed() (frames []wire.Frame, when []time.Time) {
	w.s.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	frames, when = w.got, w.when
	w.got, w.when = nil, nil
	return frames, when
}

// wantFrames checks the frames that arrived since the last call: the type, and the run's attempt if the frame has
// one.
func (w *worker) wantFrames(want ...string) []wire.Frame {
	w.s.t.Helper()
	frames := w.take()
	got := make([]string, len(frames))
	for i, f := range frames {
		switch f := f.(type) {
		case *wire.RunDispatch:
			got[i] = fmt.Sprintf("run_dispatch %d", f.Attempt)
		case *wire.RunStop:
			got[i] = fmt.Sprintf("run_stop %d", f.Attempt)
		case *wire.Error:
			got[i] = "error " + f.Code
		default:
			got[i] = f.Type()
		}
	}
	if !slices.Equal(got, want) {
		w.s.t.Errorf("%s was sent %q, want %q", w.host.Name, got, want)
	}
	return frames
}

// keepBeating sends heartbeats until the test ends.
func (w *worker) keepBeating() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.beat()
			case <-done:
				return
			}
		}
	})
	stop = sync.OnceFunc(func() { close(done); wg.Wait() })
	w.s.t.Cleanup(stop)
	return stop
}

// started brings a run to the status running on a worker.
func (w *worker) started(r svc.Run) svc.Run {
	w.s.t.Helper()
	w.s.settle()
	w.ack(r, true)
	w.s.want(svc.Applied)(w.s.signal(r, svc.SignalStarted))
	r = w.s.wantStatus(r, svc.RunRunning)
	w.take()
	w.s.news()
	return r
}

func code(n int) func(*svc.Signal) { return func(s *svc.Signal) { s.ExitCode = n } }

func byHook(s *svc.Signal) { s.Source = svc.FromHook }

func seq(n int64) func(*svc.Signal) {
	return func(s *svc.Signal) { s.Seq, s.Message = n, fmt.Sprint("m", n) }
}

func policy(p svc.RestartPolicy) func(*svc.NewRun) {
	return func(n *svc.NewRun) { n.RestartPolicy = p }
}

func on(w *worker) func(*svc.NewRun) { return func(n *svc.NewRun) { n.HostID = &w.host.ID } }

// reader follows the event stream.
type reader struct {
	s   *site
	sub *Subscription
}

func (s *site) subscribe(cursor *int64, globs ...string) *reader {
	s.t.Helper()
	sub, err := s.Subscribe(s.ctx, cursor, svc.EventFilter{Topics: globs})
	s.no(err)
	return &reader{s, sub}
}

// streamed is a message of the stream.
type streamed struct {
	id    int64
	topic string
	data  string
}

// next returns the next messages, or none if none are available.
func (r *reader) next(ctx context.Context) ([]streamed, error) {
	b, err := r.sub.Next(ctx)
	if err != nil {
		return nil, err
	}
	return parseStream(b)
}

func parseStream(b []byte) (out []streamed, err error) {
	for part := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n\n"), "\n\n") {
		var m streamed
		lines := strings.Split(part, "\n")
		if len(lines) != 3 {
			return nil, fmt.Errorf("a message has %d lines: %q", len(lines), part)
		}
		if _, err := fmt.Sscanf(lines[0], "id: %d", &m.id); err != nil {
			return nil, err
		}
		m.topic, m.data = strings.TrimPrefix(lines[1], "event: "), strings.TrimPrefix(lines[2], "data: ")
		out = append(out, m)
	}
	return out, nil
}

func ptr[T any](v T) *T { return &v }

// inBubble is for tests that start more than one engine.
func inBubble(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }
