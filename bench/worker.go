package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/wire"
)

// fakeWorker implements the worker's protocol on a real uplink and runs nothing.
type fakeWorker struct {
	url      string // the orchestrator's URL
	token    string
	host     string // its name
	instance string
	boot     string
	http     *http.Client
	conn     wire.Conn
	hostID   string

	given []givenRun // that it has ended lately
	turn  sync.Mutex // a heartbeat, which lists no runs, waits until a run that was confirmed has ended
}

// givenRun is a dispatch that came.
type givenRun struct {
	*wire.RunDispatch
	at time.Time
}

// spoolFor is how long ends are told again on a new connection: those that were on their way when the last one ended are lost.
const spoolFor = 30 * time.Second

func newFakeWorker(url, host string, client *http.Client) *fakeWorker {
	return &fakeWorker{url: url, token: workerToken, host: host, instance: svc.NewID(), boot: svc.NewID(), http: client}
}

// connect registers, opens the uplink and sends the first heartbeat, after which the worker gets runs.
func (w *fakeWorker) connect(ctx context.Context) error {
	if err := w.register(ctx); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	header := http.Header{"Authorization": {"Bearer " + w.token}, wire.HeaderHostID: {w.hostID},
		wire.HeaderInstanceID: {w.instance}, wire.HeaderBootID: {w.boot}}
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(w.url, "http")+"/api/internal/worker/uplink",
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: w.http})
	if err != nil {
		return fmt.Errorf("open uplink: %w", err)
	}
	w.conn = wire.WebSocket(c)
	w.given = slices.DeleteFunc(w.given, func(g givenRun) bool { return time.Since(g.at) > spoolFor })
	for _, g := range w.given {
		if err := w.end(ctx, g.RunDispatch); err != nil {
			return err
		}
	}
	return w.beat(ctx)
}

func (w *fakeWorker) register(ctx context.Context) error {
	body, err := json.Marshal(wire.Registration{HostName: w.host, Platform: "bench", InstanceID: w.instance,
		Capabilities: wire.Capabilities, Version: "bench"})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/internal/worker/register", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", res.StatusCode, answer)
	}
	var registered wire.Registered
	if err := json.Unmarshal(answer, &registered); err != nil {
		return err
	}
	w.hostID = registered.HostID
	return nil
}

func (w *fakeWorker) send(ctx context.Context, f wire.Frame) error {
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return w.conn.Write(ctx, b)
}

func (w *fakeWorker) beat(ctx context.Context) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	none := []wire.LiveRun{}
	return w.send(ctx, wire.Heartbeat{HostID: w.hostID, InstanceID: w.instance, Timestamp: svc.TimeOf(time.Now()), Runs: &none})
}

// read waits for the next frame.
func (w *fakeWorker) read(ctx context.Context) (wire.Frame, error) {
	b, err := w.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	return wire.DecodeDown(b)
}

// ready waits for the answer to the first heartbeat.
func (w *fakeWorker) ready(ctx context.Context) error {
	for {
		f, err := w.read(ctx)
		if err != nil {
			return err
		}
		if _, ok := f.(*wire.HeartbeatAck); ok {
			return nil
		}
	}
}
