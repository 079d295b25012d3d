package proctest

import (
	"context"
	"fmt"
	"path/filepath"

	"svc"
	"svc/api"
	"svc/internal/waittest"
)

// Worker is "svc worker" on a host of its own: it has a data directory and a name, which stay the same over its
// restarts.
type Worker struct {
	*Process
	Name   string
	Dir    string
	HostID string
	o      *Orchestrator
	token  string
}

// WorkerOptions changes the defaults of a worker in a lab.
type WorkerOptions struct {
	Name string // empty: "host"
	// Server is the URL of the orchestrator or of a proxy to it; empty: the orchestrator's own.
	Server string
	Dir    string // the data directory; empty: one below the lab's
	// Heartbeat is the interval; empty: 500ms.
	Heartbeat string
	// StopGrace is worker.stop_grace, as TOML elements; empty: "1s", "2s".
	StopGrace string
	// Config is more lines of the section [worker].
	Config string
}

// NewWorker creates the host at a running orchestrator and prepares its worker; Start starts it.
func NewWorker(o *Orchestrator, w WorkerOptions) *Worker {
	tb := o.lab.TB
	tb.Helper()
	fill(&w.Name, "host")
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	client := o.Client()
	host, err := client.CreateHost(ctx, api.CreateHost{Name: w.Name})
	if err != nil {
		tb.Fatalf("create host: %v", err)
	}
	token, err := client.HostToken(ctx, host.ID)
	if err != nil {
		tb.Fatalf("make a token for the host: %v", err)
	}
	return prepareWorker(o, w, host.ID, token)
}

// Twin prepares another worker process for the same host, with another data directory: as after a clone of the
// machine, or a new installation.
func (w *Worker) Twin(name, dir string) *Worker {
	twin := prepareWorker(w.o, WorkerOptions{Name: w.Name, Dir: dir}, w.HostID, w.token)
	twin.name, twin.logPath = name, w.lab.Path("log", name+".log")
	return twin
}

func prepareWorker(o *Orchestrator, w WorkerOptions, hostID, token string) *Worker {
	l := o.lab
	fill(&w.Server, o.URL)
	fill(&w.Dir, l.Path(w.Name))
	fill(&w.Heartbeat, "500ms")
	fill(&w.StopGrace, `"1s", "2s"`)
	l.Write(filepath.Join(w.Dir, "config.toml"), fmt.Sprintf(
		"[worker]\nserver_url = %q\nhost_name = %q\nheartbeat_interval = %q\nstop_grace = [%s]\nmin_free = 0\n%s\n", // so that the free space of the machine does not matter
		w.Server, w.Name, w.Heartbeat, w.StopGrace, w.Config))
	l.Write(filepath.Join(w.Dir, "providers.toml"), Catalog)
	p := l.process(w.Name, []string{"SVC_DATA_DIR=" + w.Dir, "SVC_WORKER_TOKEN=" + token}, "worker")
	l.TB.Cleanup(p.logTail)
	return &Worker{Process: p, Name: w.Name, Dir: w.Dir, HostID: hostID, o: o, token: token}
}

func fill(field *string, fallback string) {
	if *field == "" {
		*field = fallback
	}
}

// Start starts the worker and waits until its host is online.
func (w *Worker) Start() {
	w.lab.TB.Helper()
	w.Launch()
	w.AwaitStatus(svc.HostOnline)
}

// AwaitStatus waits until the orchestrator shows the host with a status.
func (w *Worker) AwaitStatus(status svc.HostStatus) {
	w.lab.TB.Helper()
	client := w.o.Client()
	var last string
	deadline := fmt.Sprintf("host %s is %s", w.Name, status)
	waittest.Eventually(w.lab.TB, deadline, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
		defer cancel()
		host, err := client.Host(ctx, w.HostID)
		last = string(host.Status)
		return err == nil && last == string(status)
	})
}
