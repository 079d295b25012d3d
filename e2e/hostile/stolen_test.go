package hostile

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/wire"
)

// A host's token is used from a second machine, which knows the ids of the host, its instance, its run and its workspace but not the worker's key: it is given
// nothing, changes nothing, and the operator learns of it.
func TestAHostsTokenIsStolen(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	o := proctest.NewOrchestrator(lab, proctest.ServeOptions{})
	o.Start()
	client := o.Client()
	good := proctest.NewWorker(o, proctest.WorkerOptions{Name: "good", Config: `checkpoint_every = "1s"`})
	good.Start()
	repo := newRepository(t, lab)
	run := newRun(t, client, good.HostID, repo, "echo change >change; echo I am here; read line; echo $line")
	var workspace svc.Workspace
	proctest.Eventually(t, proctest.Patience, "the run works in its copy, and its change is relayed", func() bool {
		r, err := client.Run(t.Context(), run.ID)
		if err != nil || r.WorkspaceID == nil || !strings.Contains(logOf(t, client, run.ID), "I am here") {
			return false
		}
		run = r
		workspace, err = client.Workspace(t.Context(), *r.WorkspaceID)
		return err == nil && workspace.RelayedCheckpoint > 0
	})
	host, err := client.Host(t.Context(), good.HostID)
	if err != nil || host.WorkerKey == nil || host.InstanceSuspect {
		t.Fatalf("the host is %+v (%v)", host, err)
	}
	thief := newThief(t, o, client, host)

	thief.reports(t.Context(), run, workspace)
	if h, err := client.Host(t.Context(), good.HostID); err != nil || !h.InstanceSuspect || value(h.WorkerKey) != value(host.WorkerKey) {
		t.Errorf("after its reports the host is %+v (%v)", h, err)
	}
	if h, err := client.ClearSuspect(t.Context(), good.HostID); err != nil || h.InstanceSuspect || value(h.WorkerKey) != value(host.WorkerKey) {
		t.Errorf("after the suspicion was cleared the host is %+v (%v)", h, err)
	}
	thief.connects(t.Context(), run)
	h, err := client.Host(t.Context(), good.HostID)
	if err != nil || !h.InstanceSuspect || value(h.WorkerKey) != value(host.WorkerKey) || value(h.InstanceID) != value(host.InstanceID) || h.Status != svc.HostOnline {
		t.Errorf("after its connections the host is %+v (%v)", h, err)
	}
	topics, err := svc.ParseGlobs([]string{string(svc.TopicWorkerSuspect)})
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.Events(t.Context(), svc.EventFilter{Topics: topics}, svc.Page{})
	if err != nil || len(events.Items) != 2 {
		t.Errorf("the journal has %d suspicions, want one for its reports and one for its connections (%v)", len(events.Items), err)
	}

	now, err := client.Run(t.Context(), run.ID)
	if err != nil || now.Status != svc.RunRunning || now.SessionEndedAt != nil || now.Result != nil {
		t.Errorf("the run is %+v (%v)", now, err)
	}
	if w, err := client.Workspace(t.Context(), workspace.ID); err != nil || w.State != workspace.State || w.Path != workspace.Path || w.Checkpoint > 100 {
		t.Errorf("the workspace is %+v (%v)", w, err)
	}
	if err := client.SendKeys(t.Context(), run.ID, []string{"done", "Enter"}); err != nil {
		t.Errorf("type into the run: %v", err)
	}
	proctest.Eventually(t, proctest.Patience, "the run ends well", func() bool {
		r, err := client.Run(t.Context(), run.ID)
		return err == nil && r.Status == svc.RunExited
	})
	land(t, client, workspace.ID)
	if _, err := client.ClearSuspect(t.Context(), good.HostID); err != nil {
		t.Fatal(err)
	}
	next := newRun(t, client, good.HostID, repo, "echo again")
	proctest.Eventually(t, proctest.Patience, "the host's own worker is given runs again", func() bool {
		r, err := client.Run(t.Context(), next.ID)
		return err == nil && r.Status == svc.RunExited
	})
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// newThief is a second machine with the token of a host.
func newThief(t *testing.T, o *proctest.Orchestrator, client *api.Client, host svc.Host) *hostile {
	t.Helper()
	token, err := client.HostToken(t.Context(), host.ID)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &hostile{t: t, o: o, token: token, host: host.ID, name: host.Name, instance: *host.InstanceID, http: &http.Client{Transport: transport}}
}

// reports tries every request by which the host's worker tells of its runs and workspaces, or reads them.
func (h *hostile) reports(ctx context.Context, r svc.Run, w svc.Workspace) {
	ended := wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: r.Attempt, Source: svc.FromWrapper, Timestamp: 1})
	copied := "/workspaces/" + w.ID
	for path, body := range map[string]any{
		"/runs/" + r.ID + "/signals":                              ended,
		"/runs/" + r.ID + "/comments/" + svc.NewID() + "/handled": struct{}{},
		copied + "/report":                                        svc.WorkspaceReport{State: svc.WorkspaceMissing, Path: "/stolen", Checkpoint: 900},
		copied + "/landing":                                       svc.LandOutcome{ID: svc.NewID(), State: svc.LandingDone, Commit: strings.Repeat("a", 40)},
		copied + "/checkpoints/900/done":                          wire.CheckpointDone{},
		copied + "/checkpoints/900/patch?offset=0&total=2&sha256=" + strings.Repeat("0", 64): struct{}{},
	} {
		if status := h.post(ctx, path, body); status != http.StatusUnauthorized {
			h.t.Errorf("%s with the host's token alone was answered with %d", path, status)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.o.URL+"/api/internal"+copied+"/checkpoints/1/bundle?for="+w.ID, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.token)
	answer, err := h.http.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		h.t.Errorf("a checkpoint was answered with %d", answer.StatusCode)
	}
}

// connects tries to become the host: without a word of itself, with the host's own names, and signed with another key.
func (h *hostile) connects(ctx context.Context, r svc.Run) {
	for what, header := range map[string]http.Header{
		"nameless": {}, "with the host's names": h.names(""), "with the host's names and a boot": h.names("boot"), "signed with another key": h.signed(ctx),
	} {
		header.Set("Authorization", "Bearer "+h.token)
		c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.o.URL, "http")+"/api/internal/worker/uplink", &websocket.DialOptions{HTTPHeader: header, HTTPClient: h.http})
		if err == nil {
			h.t.Errorf("a connection %s was taken", what)
			_ = c.CloseNow()
		}
	}
}

func (h *hostile) names(boot string) http.Header {
	header := http.Header{}
	header.Set(wire.HeaderHostID, h.host)
	header.Set(wire.HeaderInstanceID, h.instance)
	header.Set(wire.HeaderBootID, boot)
	return header
}

func (h *hostile) signed(ctx context.Context) http.Header {
	body, err := json.Marshal(wire.Registration{HostName: h.name, Platform: "thief", InstanceID: h.instance, Capabilities: wire.Capabilities})
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.o.URL+"/api/internal/worker/register", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := h.http.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	var registered wire.Registered
	if err != nil || json.Unmarshal(text, &registered) != nil || registered.Challenge == "" {
		h.t.Fatalf("the registration was answered with %s (%v)", text, err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	header := h.names("boot")
	header.Set(wire.HeaderWorkerKey, base64.StdEncoding.EncodeToString(public))
	header.Set(wire.HeaderChallenge, registered.Challenge)
	header.Set(wire.HeaderSignature, base64.StdEncoding.EncodeToString(ed25519.Sign(private, wire.UplinkProof(h.host, h.instance, "boot", registered.Challenge))))
	return header
}
