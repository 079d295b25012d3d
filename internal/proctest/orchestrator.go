package proctest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc/api"
	"svc/internal/waittest"
)

// Catalog has the providers of a lab: sh runs the prompt as a shell script, and demo is the scripted agent.
const Catalog = `
[providers.sh]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "line_oriented"
installed_detection = ["-c", "true"]

[providers.demo]
bin = "svc"
argv_template = ["exec", "demo", "{args}", "--", "{prompt}"]
tui_type = "line_oriented"
`

// Orchestrator is "svc serve" with a data directory and a port of its own. Both stay the same over its restarts.
type Orchestrator struct {
	*Process
	Dir  string
	Port int
	URL  string

	token string // empty: the token is in the data directory
}

// ServeOptions changes the defaults of an orchestrator in a lab.
type ServeOptions struct {
	Database string // empty: SQLite in the data directory
	// Config has more sections of config.toml, other than [server] and [hosts].
	Config string
	// OfflineAfter is empty for the default of 90 s.
	OfflineAfter string

	Name   string // the name of its process and of its data directory; empty: "orchestrator"
	Server string // more lines of the section [server]
	Env    []string
}

// NewOrchestrator prepares an orchestrator; Start starts it.
func NewOrchestrator(l *Lab, o ServeOptions) *Orchestrator {
	l.TB.Helper()
	fill(&o.Name, "orchestrator")
	dir := l.Path(o.Name)
	port := FreePort(l.TB)
	config := fmt.Sprintf("[server]\nbind = \"127.0.0.1\"\nport = %d\n", port) + o.Server
	if o.Database != "" {
		config += fmt.Sprintf("database = %q\n", o.Database)
	}
	if o.OfflineAfter != "" {
		config += fmt.Sprintf("[hosts]\noffline_after = %q\n", o.OfflineAfter)
	}
	l.Write(filepath.Join(dir, "config.toml"), config+o.Config)
	l.Write(filepath.Join(dir, "providers.toml"), Catalog)
	p := l.process(o.Name, append([]string{"SVC_DATA_DIR=" + dir}, o.Env...), "serve")
	l.TB.Cleanup(p.logTail)
	return &Orchestrator{Process: p, Dir: dir, Port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// NewUp prepares "svc up" as a new user calls it, in an empty home and without a config file; Start starts it.
func NewUp(l *Lab, flags ...string) *Orchestrator {
	l.TB.Helper()
	dir := l.Path("home")
	port := FreePort(l.TB)
	args := append([]string{"up", "--bind", "127.0.0.1", "--port", strconv.Itoa(port)}, flags...)
	p := l.process("up", []string{"SVC_DATA_DIR=" + dir}, args...)
	l.TB.Cleanup(p.logTail)
	return &Orchestrator{Process: p, Dir: dir, Port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// Write makes a file and the folders above it.
func (l *Lab) Write(path, text string) {
	l.TB.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		l.TB.Fatal(err)
	}
}

// Start starts the orchestrator and waits until it is ready.
func (o *Orchestrator) Start() {
	o.lab.TB.Helper()
	o.Launch()
	o.AwaitReady()
}

// AwaitReady waits until the orchestrator answers.
func (o *Orchestrator) AwaitReady() {
	o.lab.TB.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	waittest.Eventually(o.lab.TB, "the orchestrator is ready", func() bool {
		select {
		case err := <-o.ended:
			o.lab.TB.Fatalf("the orchestrator ended: %v", err)
		default:
		}
		answer, err := client.Get(o.URL + "/readyz") //nolint:noctx // the client has a timeout
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// Token returns the user token. The first start makes it.
func (o *Orchestrator) Token() string {
	o.lab.TB.Helper()
	if o.token != "" {
		return o.token
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "token"))
	if err != nil {
		o.lab.TB.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Client returns a client of the public API with connections of its own.
func (o *Orchestrator) Client() *api.Client {
	o.lab.TB.Helper()
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 64,
	}
	o.lab.TB.Cleanup(transport.CloseIdleConnections)
	return &api.Client{BaseURL: o.URL, Token: o.Token(), HTTP: &http.Client{Transport: transport}}
}

// Get requests a path of the orchestrator, such as /metrics, with the user token.
func (o *Orchestrator) Get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+o.Token())
	return http.DefaultClient.Do(request)
}
