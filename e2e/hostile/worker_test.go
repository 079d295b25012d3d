package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/wire"
)

// hostile is a hostile worker. It has the valid token of a host.
type hostile struct {
	t        *testing.T
	o        *proctest.Orchestrator
	token    string
	host     string
	name     string
	instance string
	http     *http.Client
}

// newWorker creates a hostile worker that has the token of a host. It reports the given instance id, which may be
// another worker's.
func newWorker(t *testing.T, o *proctest.Orchestrator, client *api.Client, host svc.Host, instance string) *hostile {
	t.Helper()
	token, err := client.HostToken(t.Context(), host.ID)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &hostile{t: t, o: o, token: token, host: host.ID, name: host.Name, instance: instance, http: &http.Client{Transport: transport}}
}

// request sends JSON to an internal endpoint and returns the status and the body of the response. Status 0: no
// response.
func (h *hostile) request(ctx context.Context, method, path string, body any) (status int, text []byte) {
	b, err := json.Marshal(body)
	if err != nil {
		h.t.Error(err)
		return 0, nil
	}
	r, err := http.NewRequestWithContext(ctx, method, h.o.URL+"/api/internal"+path, bytes.NewReader(b))
	if err != nil {
		h.t.Error(err)
		return 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := h.http.Do(r)
	if err != nil {
		return 0, nil
	}
	text, _ = io.ReadAll(answer.Body) // a caller that needs the whole body fails when it decodes a part
	_ = answer.Body.Close()
	return answer.StatusCode, text
}

// post sends JSON to an internal endpoint and returns the status. 0: no response.
func (h *hostile) post(ctx context.Context, path string, body any) int {
	status, _ := h.request(ctx, http.MethodPost, path, body)
	return status
}

// registration returns the worker's registration with the given instance id.
func (h *hostile) registration(instance string) wire.Registration {
	return wire.Registration{HostName: h.name, Platform: "hostile", InstanceID: instance, Capabilities: wire.Capabilities}
}

func (h *hostile) register(ctx context.Context, instance string) int {
	return h.post(ctx, "/worker/register", h.registration(instance))
}

// identityHeaders returns the headers of an uplink that identify the host, the worker's instance and its process
// (boot).
func (h *hostile) identityHeaders(instance, boot string) http.Header {
	header := http.Header{}
	header.Set(wire.HeaderHostID, h.host)
	header.Set(wire.HeaderInstanceID, instance)
	header.Set(wire.HeaderBootID, boot)
	return header
}

// open opens an uplink. Without an instance the uplink has no identifying headers.
func (h *hostile) open(ctx context.Context, instance, boot string) (*websocket.Conn, error) {
	if instance == "" {
		return h.dial(ctx, http.Header{})
	}
	return h.dial(ctx, h.identityHeaders(instance, boot))
}

// dial opens an uplink with these headers and the host's token.
func (h *hostile) dial(ctx context.Context, header http.Header) (*websocket.Conn, error) {
	header.Set("Authorization", "Bearer "+h.token)
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.o.URL, "http")+"/api/internal/worker/uplink",
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: h.http})
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(wire.MaxFrame)
	return c, nil
}

// send writes a frame. A nil error does not mean that the orchestrator accepted the frame.
func (h *hostile) send(ctx context.Context, c *websocket.Conn, f wire.Frame) error {
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return c.Write(ctx, websocket.MessageText, b)
}

// forgeries returns frames that report about a run of another host.
func forgeries(r svc.Run) []wire.Frame {
	signal := func(kind svc.SignalKind, source svc.SignalSource) wire.Frame {
		s := svc.Signal{Kind: kind, Attempt: r.Attempt, Source: source, Timestamp: 1, Result: svc.ResultSuccess, Seq: 1 << 40, Message: "forged", Error: "forged"}
		return wire.SignalFrame{RunID: r.ID, Signal: wire.FromSignal(s)}
	}
	zero := int64(0)
	held := []wire.LiveRun{{RunID: r.ID, Attempt: r.Attempt}}
	return []wire.Frame{
		signal(svc.SignalFinished, svc.FromWrapper), signal(svc.SignalFailed, svc.FromWrapper), signal(svc.SignalFailed, svc.FromHook),
		signal(svc.SignalCompleted, svc.FromHook), signal(svc.SignalProgress, svc.FromHook),
		wire.RunDispatchAck{RunID: r.ID, Attempt: r.Attempt, Reason: "forged"},
		wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1},
		wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1, Attempt: r.Attempt, Offset: &zero},
		wire.LogEnd{RunID: r.ID, Attempt: r.Attempt, Bytes: 1},
		wire.LogGone{RunID: r.ID, Attempt: r.Attempt},
		wire.ScreenGone{RunID: r.ID, Attempt: r.Attempt},
		wire.Snapshot{RunID: r.ID, Capture: "forged", Timestamp: 1},
		wire.Snapshot{RunID: r.ID, Capture: "forged", Timestamp: 1, Attempt: r.Attempt, Final: true},
		wire.RunHint{RunID: r.ID, Attempt: r.Attempt, Hint: "forged"},
		wire.RunUnknown{Runs: held},
		wire.Orphan{SessionName: r.SessionName, RunID: r.ID, Attempt: r.Attempt, Action: "stopped"},
	}
}

// forge reports about another host's run by every endpoint and frame: once on
// an uplink without identifying headers, and once on an identified one.
func (h *hostile) forge(ctx context.Context, r svc.Run) {
	for _, instance := range []string{"", h.instance} {
		c, err := h.open(ctx, instance, "")
		if err != nil {
			h.t.Errorf("open an uplink: %v", err)
			return
		}
		for _, f := range forgeries(r) {
			if err := h.send(ctx, c, f); err != nil {
				h.t.Errorf("send a %s frame: %v", f.Type(), err)
			}
			if s, ok := f.(wire.SignalFrame); ok {
				if status := h.post(ctx, "/runs/"+r.ID+"/signals", s.Signal); status != http.StatusForbidden {
					h.t.Errorf("a forged %s was answered with %d", s.Kind, status)
				}
			}
		}
		held := []wire.LiveRun{{RunID: r.ID, Attempt: r.Attempt}}
		h.forgeWorkspace(ctx, *r.WorkspaceID, http.StatusForbidden)
		_ = h.send(ctx, c, wire.Heartbeat{HostID: h.host, InstanceID: h.instance, Timestamp: 1, Runs: &held})
		answered := false // the acknowledgement comes after all earlier frames were handled
		for !answered {
			_, b, err := c.Read(ctx)
			if err != nil {
				h.t.Errorf("no answer to the heartbeat: %v", err)
				break
			}
			answered = bytes.Contains(b, []byte(`"heartbeat_ack"`))
		}
		_ = c.CloseNow()
	}
}

// flood sends large frames and registrations on many connections at once, to fill the orchestrator's memory.
func (h *hostile) flood(ctx context.Context, own svc.Run) {
	long := strings.Repeat("x", 3500<<10)
	catalog := map[string]svc.ProviderReport{}
	for i := range 30_000 {
		catalog[fmt.Sprint("p", i)] = svc.ProviderReport{Reason: "x"}
	}
	far := int64(1) << 40 // an offset that is refused, but only after the frame was read
	frames := []wire.Frame{
		wire.Orphan{SessionName: long, Action: "none"},
		wire.Providers{Providers: catalog},
		wire.RunHint{RunID: own.ID, Attempt: 1, Hint: long},
		wire.Goodbye{Reason: long},
		wire.RunDispatchAck{RunID: own.ID, Attempt: 1, Reason: long},
		wire.KeysResult{RequestID: long},
		wire.LogChunk{RunID: own.ID, Text: []byte(long), Timestamp: 1, Attempt: 1, Offset: &far},
	}
	var sides sync.WaitGroup
	for side := range 24 {
		sides.Go(func() { h.floodFrom(ctx, frames, side) })
	}
	for range 4 {
		sides.Go(func() {
			for range 50 {
				h.register(ctx, svc.NewID())
				if c, err := h.open(ctx, svc.NewID(), strings.Repeat("b", 60_000)); err == nil {
					h.t.Error("a boot id of 60,000 bytes was accepted")
					_ = c.CloseNow()
				}
			}
		})
	}
	sides.Wait()
}

// floodFrom opens connections one after the other, sends large frames on each,
// and never reads the responses.
func (h *hostile) floodFrom(ctx context.Context, frames []wire.Frame, side int) {
	rounds := 1
	if proctest.Long() {
		rounds = 5
	}
	for round := range rounds {
		c, err := h.open(ctx, svc.NewID(), fmt.Sprint("boot-", side, "-", round))
		if err != nil {
			continue // too many connections
		}
		for i := range 12 {
			if h.send(ctx, c, frames[(side+i)%len(frames)]) != nil {
				break // the orchestrator closed the connection
			}
		}
		_ = c.CloseNow()
	}
}
