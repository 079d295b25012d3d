package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/wire"
)

const testToken = "0123456789abcdef0123456789abcdef"

// orchestrator is a worker's peer, as the interface describes it, with faults on demand.
type orchestrator struct {
	t      *testing.T
	http   *httptest.Server
	hostID string

	mu        sync.Mutex // guards the fields below
	caps      []string
	happens   []string // everything that came in, in order
	frames    []wire.Frame
	signals   []svc.Signal
	logs      map[key][]byte
	times     map[key][]wire.LogTime
	ends      map[key]int64         // the log lengths that the worker reported
	relayed   map[key][]http.Header // the headers of the reports of ends
	conn      wire.Conn
	conns     int // how many were opened
	greeted   int // the number of the connection that was the newest when it brought a heartbeat
	headers   http.Header
	challenge string // sent with each answer to a heartbeat
	silentCap bool   // the response to the upgrade has no capabilities, as that of older versions
	// Faults.
	refuses    int                  // a status with which uplinks are refused; 0: none
	down       bool                 // every request is a 503, every uplink is refused
	deaf       bool                 // heartbeats are not answered
	mute       bool                 // log chunks are kept but not acknowledged
	logStopped bool                 // log chunks are not even kept
	screenless bool                 // last screens are not acknowledged
	cutEvery   int                  // the connection is cut after this many log chunks
	answer     func(svc.Signal) int // returns the status for a signal; nil: 200
	chunks     int
}

func newOrchestrator(t *testing.T) *orchestrator {
	o := &orchestrator{t: t, hostID: svc.NewID(), caps: wire.Capabilities, logs: map[key][]byte{}, times: map[key][]wire.LogTime{}, ends: map[key]int64{}, relayed: map[key][]http.Header{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/internal/worker/register", o.register)
	mux.HandleFunc("POST /api/internal/runs/{id}/signals", o.signal)
	mux.HandleFunc("GET /api/internal/worker/uplink", o.uplink)
	o.http = httptest.NewServer(o.guard(mux))
	t.Cleanup(func() {
		o.cut()
		o.http.Close()
	})
	return o
}

func (o *orchestrator) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		down := o.down
		o.mu.Unlock()
		switch {
		case down:
			refuse(rw, http.StatusServiceUnavailable, svc.CodeUnavailable)
		case r.Header.Get("Authorization") != "Bearer "+testToken && !ofItsRun(r):
			refuse(rw, http.StatusUnauthorized, svc.CodeUnauthorized)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// runToken returns the token of a run.
func runToken(runID string) string { return "run-token-" + runID }

// ofItsRun reports whether a request is a signal that carries the token of its run.
func ofItsRun(r *http.Request) bool {
	runID, isSignal := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/internal/runs/"), "/signals")
	return isSignal && r.Header.Get("Authorization") == "Bearer "+runToken(runID)
}

func refuse(rw http.ResponseWriter, status int, code svc.Code) {
	rw.WriteHeader(status)
	_, _ = fmt.Fprintf(rw, `{"error":{"code":%q,"message":"no"}}`, code)
}

func (o *orchestrator) register(rw http.ResponseWriter, r *http.Request) {
	var reg wire.Registration
	if err := json.NewDecoder(r.Body).Decode(&reg); err != nil || reg.HostName == "" || !svc.IsID(reg.InstanceID) {
		refuse(rw, http.StatusBadRequest, svc.CodeValidation)
		return
	}
	if reg.HostName != "lab" {
		refuse(rw, http.StatusNotFound, svc.CodeHostNotFound)
		return
	}
	o.note("register")
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = json.NewEncoder(rw).Encode(wire.Registered{HostID: o.hostID, Status: svc.HostOnline, Capabilities: o.caps})
}

func (o *orchestrator) signal(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s, err := wire.ParseSignal(r.PathValue("id"), body)
	if err != nil {
		o.t.Errorf("malformed signal %s: %v", body, err)
		refuse(rw, http.StatusBadRequest, svc.CodeValidation)
		return
	}
	o.mu.Lock()
	answer := o.answer
	if s.Kind == svc.SignalFinished {
		k := key{s.RunID, s.Attempt}
		o.relayed[k] = append(o.relayed[k], r.Header)
	}
	o.mu.Unlock()
	if answer != nil {
		if status := answer(s); status != http.StatusOK {
			refuse(rw, status, svc.CodeConflict)
			return
		}
	}
	o.mu.Lock()
	o.signals = append(o.signals, s)
	o.mu.Unlock()
	o.note("signal " + string(s.Kind))
	_, _ = io.WriteString(rw, `{"outcome":"applied"}`)
}

func (o *orchestrator) uplink(rw http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	refuses, agrees := o.refuses, !o.silentCap
	if refuses != 0 && refuses < 500 {
		o.refuses = 0 // the next one has registered
	}
	o.mu.Unlock()
	if refuses != 0 {
		o.note("refusal")
		refuse(rw, refuses, svc.CodeUnauthorized)
		return
	}
	if agrees {
		rw.Header().Set(wire.HeaderCapabilities, r.Header.Get(wire.HeaderCapabilities))
	}
	c, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	conn := wire.WebSocket(c)
	o.mu.Lock()
	o.conn, o.headers = conn, r.Header
	o.conns++
	o.mu.Unlock()
	o.note("uplink")
	ctx := context.Background()
	for {
		body, err := conn.Read(ctx)
		if err != nil {
			o.note("drop")
			return
		}
		frame, err := wire.DecodeUp(body)
		if err != nil {
			o.t.Errorf("malformed frame %.200s: %v", body, err)
			continue
		}
		o.take(ctx, conn, frame)
	}
}

func (o *orchestrator) take(ctx context.Context, conn wire.Conn, frame wire.Frame) {
	o.mu.Lock()
	o.frames = append(o.frames, frame)
	deaf, challenge := o.deaf, o.challenge
	o.mu.Unlock()
	switch f := frame.(type) {
	case *wire.Heartbeat:
		o.note("heartbeat")
		o.set(func(o *orchestrator) {
			if conn == o.conn {
				o.greeted = o.conns
			}
		})
		if !deaf {
			o.sendOn(ctx, conn, &wire.HeartbeatAck{Timestamp: f.Timestamp, Challenge: challenge})
		}
	case *wire.LogChunk:
		o.takeLog(ctx, conn, f)
	case *wire.LogEnd:
		o.endLog(ctx, conn, f)
	case *wire.Snapshot:
		o.note("snapshot")
		o.mu.Lock()
		keeps := !o.screenless
		o.mu.Unlock()
		if f.Final && keeps {
			o.sendOn(ctx, conn, &wire.ScreenAck{RunID: f.RunID, Attempt: f.Attempt})
		}
	default:
		o.note(frame.Type())
	}
}

func (o *orchestrator) takeLog(ctx context.Context, conn wire.Conn, f *wire.LogChunk) {
	o.mu.Lock()
	k := key{f.RunID, f.Attempt}
	have := int64(len(o.logs[k]))
	if !o.logStopped && (f.Offset == nil || *f.Offset == have) {
		o.logs[k] = append(o.logs[k], f.Raw()...)
		o.times[k] = append(o.times[k], f.Times...)
	}
	if len(f.Raw()) != f.Bytes {
		o.t.Errorf("chunk of %d bytes says that it has %d", len(f.Raw()), f.Bytes)
	}
	ack := int64(len(o.logs[k]))
	end, ended := o.ends[k]
	o.chunks++
	mute := o.mute || o.logStopped
	cut := o.cutEvery > 0 && o.chunks%o.cutEvery == 0
	o.mu.Unlock()
	o.note("log_chunk")
	if cut {
		_ = conn.Close("cut") // the acknowledgement is lost with the connection
		return
	}
	if !mute && f.Offset != nil {
		o.sendOn(ctx, conn, &wire.LogAck{RunID: f.RunID, Attempt: f.Attempt, Offset: ack, Complete: ended && ack >= end})
	}
}

// endLog acknowledges how much of a log is kept. When mute it reports that it has nothing.
func (o *orchestrator) endLog(ctx context.Context, conn wire.Conn, f *wire.LogEnd) {
	o.mu.Lock()
	k := key{f.RunID, f.Attempt}
	have := int64(len(o.logs[k]))
	o.ends[k] = f.Bytes
	mute := o.mute || o.logStopped
	o.mu.Unlock()
	o.note("log_end")
	if !mute {
		o.sendOn(ctx, conn, &wire.LogAck{RunID: f.RunID, Attempt: f.Attempt, Offset: have, Complete: have >= f.Bytes})
	}
}

func (o *orchestrator) sendOn(ctx context.Context, conn wire.Conn, f wire.Frame) {
	body, err := wire.Encode(f)
	if err != nil {
		o.t.Error(err)
		return
	}
	_ = conn.Write(ctx, body)
}

// send sends a frame on the open uplink.
func (o *orchestrator) send(f wire.Frame) {
	o.t.Helper()
	o.mu.Lock()
	conn := o.conn
	o.mu.Unlock()
	if conn == nil {
		o.t.Fatal("no uplink to send on")
	}
	o.sendOn(o.t.Context(), conn, f)
}

func (o *orchestrator) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.happens = append(o.happens, what)
}

func (o *orchestrator) set(change func(*orchestrator)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

// cut closes the open connection.
func (o *orchestrator) cut() {
	o.mu.Lock()
	conn := o.conn
	o.conn = nil
	o.mu.Unlock()
	if conn != nil {
		_ = conn.Close("cut")
	}
}

// history returns everything that has arrived so far.
func (o *orchestrator) history() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.happens...)
}

// online returns a condition: a worker that connects from now on has sent a heartbeat.
func (o *orchestrator) online() func() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.conns
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.greeted > before
	}
}

func (o *orchestrator) count(what string) int {
	n := 0
	for _, h := range o.history() {
		if h == what {
			n++
		}
	}
	return n
}

func (o *orchestrator) log(runID string, attempt int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.logs[key{runID, attempt}])
}

// signalsOf lists the signals of a kind for an attempt.
func (o *orchestrator) signalsOf(runID string, attempt int, kind svc.SignalKind) []svc.Signal {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []svc.Signal
	for _, s := range o.signals {
		if s.RunID == runID && s.Attempt == attempt && s.Kind == kind {
			found = append(found, s)
		}
	}
	return found
}

// framesOf lists the frames of one type.
func framesOf[F wire.Frame](o *orchestrator) []F {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []F
	for _, f := range o.frames {
		if f, ok := f.(F); ok {
			found = append(found, f)
		}
	}
	return found
}

// screen returns the last snapshot of a run.
func (o *orchestrator) screen(runID string) string {
	all := framesOf[*wire.Snapshot](o)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].RunID == runID {
			return all[i].Capture
		}
	}
	return ""
}

func (o *orchestrator) shows(runID, text string) func() bool {
	return func() bool { return strings.Contains(o.screen(runID), text) }
}

// header returns a header of the last connection's upgrade request.
func (o *orchestrator) header(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.headers.Get(name)
}
