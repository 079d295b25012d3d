package live

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// viewer is a client of a run's terminal or screen. It stores all frames that it receives.
type viewer struct {
	t    *testing.T
	conn *websocket.Conn
	done chan struct{} // closed when the socket has ended
	stop context.CancelFunc

	mu     sync.Mutex // guards the rest
	frames []frame
	data   []byte // all output so far
	ended  error
}

// frame has the members of all frames of the browser's sockets.
type frame struct {
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"`
	Rows    int    `json:"rows,omitempty"`
	Cols    int    `json:"cols,omitempty"`
	Capture string `json:"capture,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
}

// attach opens a socket to a run's terminal.
func (s *site) attach(runID string) *viewer {
	s.t.Helper()
	conn, err := s.client.Attach(s.t.Context(), runID)
	return newViewer(s.t, conn, err)
}

// attachThrough opens a socket to a run's terminal through a proxy.
func (s *site) attachThrough(p *proctest.Proxy, runID string) *viewer {
	s.t.Helper()
	client := s.o.Client()
	client.BaseURL = p.URL
	conn, err := client.Attach(s.t.Context(), runID)
	return newViewer(s.t, conn, err)
}

// watch opens a socket to a run's screen.
func (s *site) watch(runID string) *viewer {
	s.t.Helper()
	conn, err := s.client.WatchPane(s.t.Context(), runID)
	return newViewer(s.t, conn, err)
}

func newViewer(t *testing.T, conn *websocket.Conn, err error) *viewer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	v := &viewer{t: t, conn: conn, done: make(chan struct{}), stop: stop}
	go v.read(ctx)
	t.Cleanup(v.closeNow)
	return v
}

func (v *viewer) read(ctx context.Context) {
	defer close(v.done)
	for {
		_, b, err := v.conn.Read(ctx)
		var f frame
		if err == nil {
			err = json.Unmarshal(b, &f)
		}
		v.mu.Lock()
		if err != nil {
			v.ended = err
			v.mu.Unlock()
			return
		}
		v.frames = append(v.frames, f)
		v.data = append(v.data, f.Bytes...)
		v.mu.Unlock()
	}
}

// leave closes the socket as a page does.
func (v *viewer) leave() {
	_ = v.conn.Close(websocket.StatusNormalClosure, "") // the server may have closed it already
	v.closeNow()
}

// closeNow ends the viewer without a close frame.
func (v *viewer) closeNow() {
	v.stop()
	_ = v.conn.CloseNow() // it may be closed already
	<-v.done
}

func (v *viewer) send(f frame) {
	v.t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		v.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), waittest.Patience)
	defer cancel()
	if err := v.conn.Write(ctx, websocket.MessageText, b); err != nil {
		v.t.Errorf("send %s: %v", f.Type, err)
	}
}

func (v *viewer) typeIn(text string) {
	v.t.Helper()
	v.send(frame{Type: "input", Bytes: []byte(text)})
}

func (v *viewer) resize(cols, rows int) {
	v.t.Helper()
	v.send(frame{Type: "resize", Rows: rows, Cols: cols})
}

// mark is a position in the frames and the output that a viewer has received.
type mark struct{ frames, data int }

// position returns the current position.
func (v *viewer) position() mark {
	v.mu.Lock()
	defer v.mu.Unlock()
	return mark{len(v.frames), len(v.data)}
}

// awaitData waits until the terminal's output after a position contains a text.
func (v *viewer) awaitData(since mark, text string) {
	v.t.Helper()
	waittest.Eventually(v.t, "the terminal draws "+text, func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return bytes.Contains(v.data[since.data:], []byte(text))
	})
}

// await waits for a frame after a position for which is returns true, and returns it.
func (v *viewer) await(since mark, what string, is func(frame) bool) frame {
	v.t.Helper()
	var found frame
	waittest.Eventually(v.t, what, func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, f := range v.frames[since.frames:] {
			if is(f) {
				found = f
				return true
			}
		}
		return false
	})
	return found
}

func (v *viewer) awaitLease(since mark) {
	v.t.Helper()
	v.await(since, "the viewer gets the lease", func(f frame) bool { return f.Type == "lease_acquired" })
}

func (v *viewer) awaitError(since mark, code string) {
	v.t.Helper()
	v.await(since, "the viewer receives the error "+code, func(f frame) bool { return f.Type == "error" && f.Code == code })
}

func (v *viewer) awaitSize(since mark, cols, rows int) {
	v.t.Helper()
	v.await(since, "the viewer receives the size", func(f frame) bool { return f.Type == "resize" && f.Rows == rows && f.Cols == cols })
}

// awaitClose waits until the socket is closed, and returns the error with which it ended.
func (v *viewer) awaitClose(limit time.Duration) error {
	v.t.Helper()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-v.done:
	case <-timeout.C:
		v.t.Fatalf("the socket does not end within %v", limit)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended
}

// screen returns the run's screen from the orchestrator.
func (s *site) screen(runID string) api.Pane {
	s.t.Helper()
	pane, err := s.client.Pane(s.t.Context(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	return pane
}
