package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/waittest"
	"svc/wire"
)

// dispatched creates a run, lets the worker of a new host accept it, and returns the dispatch. The worker stays
// connected until the end of the test.
func (g *rig) dispatched(hostName string) (hostID string, d wire.RunDispatch) {
	g.Helper()
	hostID, d, _ = g.working(hostName)
	return hostID, d
}

// working is dispatched, and also returns the worker's end of the uplink.
func (g *rig) working(hostName string) (hostID string, d wire.RunDispatch, c *websocket.Conn) {
	g.Helper()
	hostID = g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": hostName}).JSON["id"].(string)
	instance := svc.NewID()
	g.want(http.StatusOK, "POST", "/api/internal/worker/register", wire.Registration{
		HostName: hostName, Platform: "linux", InstanceID: instance, Capabilities: wire.Capabilities,
	}, token(workerToken))
	c, _, err := websocket.Dial(g.Context(), "ws"+strings.TrimPrefix(g.URL, "http")+"/api/internal/worker/uplink", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + workerToken}, wire.HeaderHostID: {hostID}, wire.HeaderInstanceID: {instance}},
	})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = c.CloseNow() })
	beat, err := wire.Encode(wire.Heartbeat{HostID: hostID, InstanceID: instance, Timestamp: 1, Runs: &[]wire.LiveRun{}})
	if err != nil {
		g.Fatal(err)
	}
	if err := c.Write(g.Context(), websocket.MessageText, beat); err != nil {
		g.Fatal(err)
	}
	_, task := g.task()
	g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b", "host_id": hostID})
	for {
		_, b, err := c.Read(g.Context())
		if err != nil {
			g.Fatal(err)
		}
		f, err := wire.DecodeDown(b)
		if err != nil {
			g.Fatal(err)
		}
		if dispatch, ok := f.(*wire.RunDispatch); ok {
			return hostID, *dispatch, c
		}
	}
}

func TestTheUpgradeSaysWhatAWorkerCanDo(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "h"}).JSON["id"].(string)
	instance := svc.NewID()
	dial := func(caps string) (*http.Response, error) {
		c, answer, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(g.URL, "http")+"/api/internal/worker/uplink", &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + workerToken}, wire.HeaderHostID: {host}, wire.HeaderInstanceID: {instance},
				wire.HeaderCapabilities: {caps}},
		})
		if err == nil {
			t.Cleanup(func() { _ = c.CloseNow() })
		}
		return answer, err
	}
	answer, err := dial(strings.Repeat("x,", wire.MaxCapabilities))
	if err == nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a header without a bound was answered with %v (%v)", answer, err)
	}
	if _, err := dial("keys, teleport,\tstop"); err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, "the host is connected with what its upgrade said", func() bool {
		link, connected := g.Engine.Hub.Uplinks.Of(host)
		return connected && link.Has(wire.CapKeys) && link.Has(wire.CapStop) && !link.Has(wire.CapAttach)
	})
}

func started(attempt int) any {
	return wire.FromSignal(svc.Signal{Kind: svc.SignalStarted, Attempt: attempt, Source: svc.FromWrapper, Timestamp: 1})
}

func TestASignalTokenIsGoodForSignalsOfItsRunAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d := g.dispatched("one")
	_, other := g.dispatched("two")
	for _, taken := range []string{"", other.SignalToken, workerToken, userToken} {
		if d.SignalToken == taken {
			t.Fatalf("got tokens %q and %q", d.SignalToken, other.SignalToken)
		}
	}
	own := token(d.SignalToken)
	got := g.want(http.StatusOK, "POST", "/api/internal/runs/"+d.RunID+"/signals", started(d.Attempt), own)
	if got.JSON["outcome"] != "applied" {
		t.Errorf("got %s", got.Body)
	}
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", "/api/internal/runs/"+other.RunID+"/signals", started(other.Attempt), own)
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", "/api/internal/worker/register", "{}", own)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/internal/worker/uplink", nil, own)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/runs/"+d.RunID, nil, own)
}

func TestAHostReportsOnlyOfTheRunsItWasGiven(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	mine, d := g.dispatched("mine")
	theirs, _ := g.dispatched("theirs")
	tokenOf := func(host string) edit {
		return token(g.want(http.StatusOK, "POST", "/api/v1/hosts/"+host+"/token", nil).JSON["token"].(string))
	}
	path := "/api/internal/runs/" + d.RunID + "/signals"
	g.refuse(http.StatusForbidden, "forbidden", "POST", path, started(d.Attempt), tokenOf(theirs))
	late := g.want(http.StatusOK, "POST", path, started(d.Attempt-1), tokenOf(theirs))
	own := g.want(http.StatusOK, "POST", path, started(d.Attempt), tokenOf(mine))
	if late.JSON["outcome"] != "dead_attempt" || own.JSON["outcome"] != "applied" {
		t.Errorf("got %s and %s", late.Body, own.Body)
	}
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/internal/runs/"+noID+"/signals", started(1), tokenOf(mine))
}

func TestAnEndThatNamesMoreThanIsHereIsRefusedForNow(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d := g.dispatched("one")
	path := "/api/internal/runs/" + d.RunID + "/signals"
	end := fmt.Sprintf(`{"kind":"finished","attempt":%d,"source":"wrapper","timestamp":"2026-01-01T00:00:00Z","payload":{"exit_code":0}}`, d.Attempt)
	g.want(http.StatusOK, "POST", path, started(d.Attempt), token(workerToken))
	for _, wrong := range []string{"-1", "many"} {
		g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, end, token(workerToken), with(wire.HeaderLogBytes, wrong))
	}
	g.refuse(http.StatusServiceUnavailable, "unavailable", "POST", path, end, token(workerToken), with(wire.HeaderLogBytes, "1"))
	g.refuse(http.StatusServiceUnavailable, "unavailable", "POST", path, end, token(workerToken), with(wire.HeaderLastScreen, "1"))
	if got := g.want(http.StatusOK, "POST", path, end, token(workerToken), with(wire.HeaderLogBytes, "0")); got.JSON["outcome"] != "applied" {
		t.Errorf("got %s", got.Body)
	}
}

func TestARegistrationIsReadStrictly(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`)
	post := func(status int, code, body string) reply {
		return g.refuse(status, code, "POST", "/api/internal/worker/register", body, token(workerToken))
	}
	for body, field := range map[string]string{
		`{"platform":"linux","instance_id":"` + noID + `"}`:                              "host_name",
		`{"host_name":"h","platform":"linux"}`:                                           "instance_id",
		`{"host_name":"h","platform":"linux","instance_id":"me"}`:                        "instance_id",
		`{"host_name":4,"platform":"linux","instance_id":"` + noID + `"}`:                "host_name",
		`{"host_name":"h","platform":"linux","instance_id":"` + noID + `","colour":"x"}`: "colour",
		`{`:  "body",
		``:   "body",
		`[]`: "body",
	} {
		if got := post(http.StatusBadRequest, "validation_failed", body); got.fields()[field] == nil {
			t.Errorf("%s: got %s, want %s named", body, got.Body, field)
		}
	}
	post(http.StatusNotFound, "host_not_found", `{"host_name":"stranger","platform":"linux","instance_id":"`+noID+`"}`)
	g.refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "POST", "/api/internal/worker/register", `{}`, token(workerToken), with("Content-Type", "text/plain"))
}

func TestASignedBodyIsTheOneThatWasSigned(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	host, d := g.dispatched("h")
	own := token(g.want(http.StatusOK, "POST", "/api/v1/hosts/"+host+"/token", nil).JSON["token"].(string))
	path := "/api/internal/runs/" + d.RunID + "/signals"
	body, err := json.Marshal(started(d.Attempt))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", path, string(body), own, with(wire.HeaderBodyHash, strings.Repeat("0", 64)))
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", path, string(body)+" ", own, with(wire.HeaderBodyHash, hex.EncodeToString(sum[:])))
	g.want(http.StatusOK, "POST", path, string(body), own, with(wire.HeaderBodyHash, hex.EncodeToString(sum[:])))
}
