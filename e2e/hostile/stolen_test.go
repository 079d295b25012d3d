package hostile

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
	"svc/wire"
)

// A second machine uses a host's token. It has the ids of the host, its instance, its run and its workspace, but not
// the worker's private key. It receives no data and changes nothing, and the host is marked as suspect for the
// operator.
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
	waittest.Eventually(t, "the run works in its copy, and its change is relayed", func() bool {
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
	thief := newWorker(t, o, client, host, *host.InstanceID)

	thief.forgeReports(t.Context(), run, workspace)
	if h, err := client.Host(t.Context(), good.HostID); err != nil || !h.InstanceSuspect || value(h.WorkerKey) != value(host.WorkerKey) {
		t.Errorf("after its reports the host is %+v (%v)", h, err)
	}
	if h, err := client.ClearSuspect(t.Context(), good.HostID); err != nil || h.InstanceSuspect || value(h.WorkerKey) != value(host.WorkerKey) {
		t.Errorf("after the suspicion was cleared the host is %+v (%v)", h, err)
	}
	thief.tryConnections(t.Context())
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
		t.Errorf("the journal has %d events of suspicion, want one for the reports and one for the connections (%v)", len(events.Items), err)
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
	awaitExited(t, client, run.ID, "the run ends well")
	land(t, client, workspace.ID)
	if _, err := client.ClearSuspect(t.Context(), good.HostID); err != nil {
		t.Fatal(err)
	}
	next := newRun(t, client, good.HostID, repo, "echo again")
	awaitExited(t, client, next.ID, "the host's own worker is given runs again")
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// forgeReports sends each kind of request with which the host's worker reports about its runs and workspaces, or reads
// them.
func (h *hostile) forgeReports(ctx context.Context, r svc.Run, w svc.Workspace) {
	for path, body := range map[string]any{
		"/runs/" + r.ID + "/signals":                              wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: r.Attempt, Source: svc.FromWrapper, Timestamp: 1}),
		"/runs/" + r.ID + "/comments/" + svc.NewID() + "/handled": struct{}{},
	} {
		if status := h.post(ctx, path, body); status != http.StatusUnauthorized {
			h.t.Errorf("%s with the host's token alone was answered with %d", path, status)
		}
	}
	h.forgeWorkspace(ctx, w.ID, http.StatusUnauthorized)
	if status, _ := h.request(ctx, http.MethodGet, "/workspaces/"+w.ID+"/checkpoints/1/bundle?for="+w.ID, nil); status != http.StatusUnauthorized {
		h.t.Errorf("a checkpoint was answered with %d", status)
	}
}

// tryConnections tries to open an uplink as the host: without identifying headers, with the host's ids, and signed with
// another key.
func (h *hostile) tryConnections(ctx context.Context) {
	for what, header := range map[string]http.Header{
		"without names": {}, "with the host's names": h.identityHeaders(h.instance, ""), "with the host's names and a boot": h.identityHeaders(h.instance, "boot"),
		"signed with another key": h.signedHeaders(ctx),
	} {
		if c, err := h.dial(ctx, header); err == nil {
			h.t.Errorf("a connection %s was accepted", what)
			_ = c.CloseNow()
		}
	}
}

// signedHeaders returns the headers of an uplink that are signed as a worker signs them, but with a key that is not the
// host's.
func (h *hostile) signedHeaders(ctx context.Context) http.Header {
	status, text := h.request(ctx, http.MethodPost, "/worker/register", h.registration(h.instance))
	var registered wire.Registered
	if err := json.Unmarshal(text, &registered); err != nil || registered.Challenge == "" {
		h.t.Fatalf("the registration was answered with %d %s (%v)", status, text, err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	header := h.identityHeaders(h.instance, "boot")
	header.Set(wire.HeaderWorkerKey, base64.StdEncoding.EncodeToString(public))
	header.Set(wire.HeaderChallenge, registered.Challenge)
	header.Set(wire.HeaderSignature, base64.StdEncoding.EncodeToString(ed25519.Sign(private, wire.UplinkProof(h.host, h.instance, "boot", registered.Challenge))))
	return header
}
