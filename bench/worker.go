package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
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
	key      ed25519.PrivateKey
	conn     wire.Conn
	hostID   string

	challenge   string // for the next connection
	challengeAt time.Time
	turnIn      time.Duration // when it is its turn, from the last refusal; 0: not told

	given []givenRun  // whose ends the orchestrator may not have
	turn  sync.Mutex  // guards beats; a heartbeat, which lists no runs, waits until a run that was confirmed has ended
	beats []time.Time // when the heartbeats were sent that were not acknowledged on this connection
}

// givenRun is a dispatch that came. Its end is told again on each connection until the orchestrator has acknowledged a
// later heartbeat: it does so only after all that came before it.
type givenRun struct {
	*wire.RunDispatch
	told time.Time // zero: the end was not told on this connection
}

func newFakeWorker(url, host string, client *http.Client) *fakeWorker {
	return &fakeWorker{url: url, token: workerToken, host: host, instance: svc.NewID(), boot: svc.NewID(), http: client}
}

// connect opens the uplink and sends the first heartbeat, after which the worker gets runs. Like the product's worker it
// registers first, unless it was connected shortly before.
func (w *fakeWorker) connect(ctx context.Context) error {
	if w.challenge == "" || time.Since(w.challengeAt) > 170*time.Second {
		if err := w.register(ctx); err != nil {
			return fmt.Errorf("register: %w", err)
		}
	}
	if w.key == nil { // the same in each process that plays this worker: the host's record pins it
		seed := sha256.Sum256([]byte(w.instance))
		w.key = ed25519.NewKeyFromSeed(seed[:])
	}
	proof := ed25519.Sign(w.key, wire.UplinkProof(w.hostID, w.instance, w.boot, w.challenge))
	header := http.Header{"Authorization": {"Bearer " + w.token}, wire.HeaderHostID: {w.hostID},
		wire.HeaderInstanceID: {w.instance}, wire.HeaderBootID: {w.boot}, wire.HeaderCapabilities: {wire.JoinCapabilities(wire.Capabilities)},
		wire.HeaderWorkerKey: {base64.StdEncoding.EncodeToString(w.key.Public().(ed25519.PublicKey))}, //nolint:forcetypeassert // it is one
		wire.HeaderChallenge: {w.challenge}, wire.HeaderSignature: {base64.StdEncoding.EncodeToString(proof)}}
	c, response, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(w.url, "http")+"/api/internal/worker/uplink", //nolint:bodyclose // Dial hands it over closed or in memory
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: w.http})
	if err != nil {
		if response != nil {
			if response.StatusCode < 500 {
				w.challenge = ""
			}
			w.noteTurn(response.Body)
		}
		return fmt.Errorf("open uplink: %w", err)
	}
	w.conn = wire.WebSocket(c)
	w.turn.Lock()
	w.beats = nil
	w.turn.Unlock()
	for i := range w.given {
		w.given[i].told = time.Time{}
	}
	for i := range w.given {
		if err := w.tell(ctx, &w.given[i]); err != nil {
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
		w.noteTurn(bytes.NewReader(answer))
		return fmt.Errorf("status %d: %.200s", res.StatusCode, answer)
	}
	var registered wire.Registered
	if err := json.Unmarshal(answer, &registered); err != nil {
		return err
	}
	w.hostID, w.challenge, w.challengeAt = registered.HostID, registered.Challenge, time.Now()
	return nil
}

// noteTurn stores from a refusal when it is this worker's turn.
func (w *fakeWorker) noteTurn(body io.Reader) {
	text, err := io.ReadAll(body)
	if err != nil {
		return
	}
	said, _ := wire.RefusalOf(text)
	w.turnIn = said.RetryIn
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
	w.beats = append(w.beats, time.Now())
	return w.send(ctx, wire.Heartbeat{HostID: w.hostID, InstanceID: w.instance, Timestamp: svc.TimeOf(time.Now()), Runs: &none})
}

// read waits for the next frame.
func (w *fakeWorker) read(ctx context.Context) (wire.Frame, error) {
	b, err := w.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	f, err := wire.DecodeDown(b)
	if ack, ok := f.(*wire.HeartbeatAck); ok {
		if ack.Challenge != "" {
			w.challenge, w.challengeAt = ack.Challenge, time.Now()
		}
		w.acknowledged()
	}
	return f, err
}

// tell tells the end of a run.
func (w *fakeWorker) tell(ctx context.Context, g *givenRun) error {
	if err := w.end(ctx, g.RunDispatch); err != nil {
		return err
	}
	g.told = time.Now()
	return nil
}

// acknowledged forgets the runs whose ends were told before the oldest heartbeat that was not acknowledged yet.
func (w *fakeWorker) acknowledged() {
	w.turn.Lock()
	defer w.turn.Unlock()
	if len(w.beats) == 0 {
		return
	}
	sent := w.beats[0]
	w.beats = w.beats[1:]
	w.given = slices.DeleteFunc(w.given, func(g givenRun) bool { return !g.told.IsZero() && g.told.Before(sent) })
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
