package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/engine"
	"svc/hub"
	"svc/internal/waittest"
	"svc/wire"
)

// liveStage is a Live on a real listener, with runs and a worker that are controlled by the test.
type liveStage struct {
	*testing.T
	live   *Live
	hub    *hub.Hub
	server *httptest.Server
	link   *liveLink
	host   string
	close  context.CancelFunc // ends requests as a shutdown does

	mu        sync.Mutex
	runs      map[string]svc.Run
	afterLook func() // called once, after the next read of a run
}

func newLiveStage(t *testing.T) *liveStage {
	t.Helper()
	s := &liveStage{T: t, host: svc.NewID(), runs: map[string]svc.Run{}, link: &liveLink{caps: []string{wire.CapAttach}}}
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	s.hub = &hub.Hub{Panes: hub.NewPanes(dir, log), Relay: hub.NewRelay(dir, log)}
	s.live = &Live{Runs: &engine.Live{Run: s.Run, Hub: s.hub}, Log: log}
	s.hub.Attach = hub.NewAttachments(hub.AttachConfig{
		Link:      func(hostID string) (hub.Link, bool) { return s.link, hostID == s.host && !s.link.isGone() },
		OnLease:   func(hub.LeaseEvent) {},
		OnInput:   func(string, string) {},
		LeaseIdle: func() time.Duration { return 0 },
		Log:       log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	s.close = cancel
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.hub.Attach.Run(ctx) })
	s.server = httptest.NewServer(s.routes(ctx))
	t.Cleanup(func() {
		cancel()
		s.server.CloseClientConnections()
		s.server.Close()
		wg.Wait()
		s.hub.Relay.Close()
	})
	return s
}

// routes registers the handlers with a context that ends with the server's. The token is the name of its holder.
func (s *liveStage) routes(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mount := func(path string, h http.HandlerFunc) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			rctx, cancel := context.WithCancel(svc.WithCaller(r.Context(), svc.Caller{Name: cmp.Or(r.URL.Query().Get("token"), "ann"), Role: svc.RoleOperator}))
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			h(w, r.WithContext(rctx))
		})
	}
	mount("/runs/{id}/pane", s.live.Pane)
	mount("/runs/{id}/logs", s.live.Logs)
	mount("/runs/{id}/recording", s.live.Recording)
	mount("/runs/{id}/pane/ws", s.live.PaneWS)
	mount("/runs/{id}/attach/ws", s.live.AttachWS)
	return mux
}

// Run returns a run of the stage.
func (s *liveStage) Run(_ context.Context, id string) (svc.Run, error) {
	s.mu.Lock()
	run, ok := s.runs[id]
	then := s.afterLook
	s.afterLook = nil
	s.mu.Unlock()
	if then != nil {
		then()
	}
	if !ok {
		return svc.Run{}, svc.NotFound("run", id)
	}
	return run, nil
}

func (s *liveStage) newRun(status svc.RunStatus) svc.Run {
	run := svc.Run{ID: svc.NewRunID(), Status: status, Attempt: 1, HostID: &s.host}
	s.setRun(run)
	return run
}

func (s *liveStage) setRun(run svc.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[run.ID] = run
}

// ends finishes a run as a signal does: first the row, then the notifications.
func (s *liveStage) ends(run svc.Run) {
	now := svc.TimeOf(time.Now())
	run.Status, run.SessionEndedAt = svc.RunExited, &now
	s.setRun(run)
	s.hub.Relay.Ended(run.ID)
	s.hub.Attach.RunEnded(run.ID, run.Attempt)
}

func (s *liveStage) append(run svc.Run, attempt int, text string) {
	s.Helper()
	if _, err := s.hub.Relay.Append("", run.ID, attempt, nil, []byte(text)); err != nil {
		s.Fatal(err)
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() string {
	var e struct {
		Error struct{ Code string } `json:"error"`
	}
	_ = json.Unmarshal([]byte(a.body), &e)
	return e.Error.Code
}

func (s *liveStage) get(path string, header ...string) answer {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.server.Client().Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

// liveLink simulates the worker.
type liveLink struct {
	mu   sync.Mutex
	caps []string
	gone bool
	open []string // attach_ids
	said []string
}

// Send records the frame.
func (l *liveLink) Send(f wire.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f := f.(type) {
	case wire.AttachOpen:
		l.open = append(l.open, f.AttachID)
	case wire.AttachClose:
		l.open = slices.DeleteFunc(l.open, func(id string) bool { return id == f.AttachID })
	case wire.AttachInput:
		l.said = append(l.said, "input "+string(f.Bytes))
	case wire.AttachResize:
		l.said = append(l.said, fmt.Sprintf("resize %dx%d", f.Rows, f.Cols))
	}
	return nil
}

// Has reports whether the worker announced a capability.
func (l *liveLink) Has(c string) bool { return slices.Contains(l.caps, c) }

func (l *liveLink) isGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *liveLink) relays() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

func (l *liveLink) got() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.said, ", ")
}

// emit sends output of the session to every open relay.
func (s *liveStage) emit(text string) {
	for _, id := range s.link.relays() {
		s.hub.Attach.FromWorker(s.host, &wire.AttachData{AttachID: id, Bytes: []byte(text)})
	}
}

// client is the socket of a browser.
type client struct {
	conn   *websocket.Conn
	mu     sync.Mutex
	frames []map[string]any
	raw    []string
	data   []byte // of all data frames
	done   chan struct{}
	err    error
}

func (s *liveStage) dial(path string) *client {
	s.Helper()
	conn := s.dialRaw(path)
	c := &client{conn: conn, done: make(chan struct{})}
	go c.read()
	s.Cleanup(func() { _ = conn.CloseNow(); <-c.done })
	return c
}

func (s *liveStage) dialRaw(path string) *websocket.Conn {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), waittest.Patience)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, s.server.URL+path, nil)
	if err != nil {
		s.Fatalf("dial: %v (%v)", err, res)
	}
	conn.SetReadLimit(64 << 20)
	return conn
}

func (c *client) read() {
	defer close(c.done)
	for {
		_, b, err := c.conn.Read(context.Background())
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.mu.Unlock()
			return
		}
		var f map[string]any
		_ = json.Unmarshal(b, &f)
		c.frames, c.raw = append(c.frames, f), append(c.raw, string(b))
		if text, ok := f["bytes"].(string); ok {
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				panic(err)
			}
			c.data = append(c.data, data...)
		}
		c.mu.Unlock()
	}
}

func (c *client) of(typ string) []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []map[string]any
	for _, f := range c.frames {
		if f["type"] == typ {
			out = append(out, f)
		}
	}
	return out
}

func (c *client) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.data)
}

// received returns how many bytes of output were received.
func (c *client) received() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.data)
}

func (c *client) send(t *testing.T, frame string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}

// closed waits for the server's close frame and returns its code and reason.
func (c *client) closed(t *testing.T) (websocket.StatusCode, string) {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(waittest.Patience):
		t.Fatal("the socket is still open")
	}
	var ce websocket.CloseError
	if errors.As(c.err, &ce) {
		return ce.Code, ce.Reason
	}
	return -1, c.err.Error()
}
