package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// terminal is a client that is attached to a run's terminal.
type terminal struct {
	t      *testing.T
	conn   *websocket.Conn
	output bytes.Buffer
	lease  bool
	list   string // the newest list of watchers: * holds the lease, ! is this client, ~ sees only the screen
}

type terminalFrame struct {
	Type     string            `json:"type"`
	Bytes    []byte            `json:"bytes,omitempty"`
	Watchers []terminalWatcher `json:"watchers,omitempty"`
}

type terminalWatcher struct {
	Name  string   `json:"name"`
	Mode  string   `json:"mode"`
	Holds bool     `json:"holds"`
	You   bool     `json:"you"`
	Since svc.Time `json:"since"`
}

// String returns a watcher in the short form of terminal.list.
func (w terminalWatcher) String() string {
	text := w.Name
	if w.Mode == "live" {
		text = "~" + text
	}
	if w.Holds {
		text += "*"
	}
	if w.You {
		text += "!"
	}
	return text
}

// attach attaches to a run's terminal through an orchestrator, and waits for the lease.
func (s *site) attach(at *proctest.Orchestrator, runID string) *terminal {
	s.t.Helper()
	a := &terminal{t: s.t}
	waittest.Eventually(s.t, "the terminal opens", func() bool {
		var err error
		a.conn, err = at.Client().Attach(s.t.Context(), runID)
		return err == nil
	})
	s.t.Cleanup(func() { _ = a.conn.CloseNow() })
	a.until("the lease", func() bool { return a.lease })
	return a
}

// attachAs attaches to the terminal with a new token of the given name. The client receives lists of watchers.
func (s *site) attachAs(at *proctest.Orchestrator, name string, role svc.Role, runID string) *terminal {
	s.t.Helper()
	conn, err := s.clientAs(at, name, role).AttachListing(s.t.Context(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &terminal{t: s.t, conn: conn}
}

// clientAs returns a client of an orchestrator with a new token of the given name.
func (s *site) clientAs(at *proctest.Orchestrator, name string, role svc.Role) *api.Client {
	s.t.Helper()
	token, err := s.client.CreateToken(s.t.Context(), api.CreateToken{Name: name, Role: role})
	if err != nil {
		s.t.Fatal(err)
	}
	c := at.Client()
	c.Token = token.Token
	return c
}

// until reads frames until holds returns true.
func (a *terminal) until(what string, holds func() bool) {
	a.t.Helper()
	for !holds() {
		if err := a.read(); err != nil {
			a.t.Fatalf("the terminal ended before it had %s: %v; it has %q", what, err, a.output.String())
		}
	}
}

func (a *terminal) read() error {
	ctx, cancel := context.WithTimeout(a.t.Context(), waittest.Patience)
	defer cancel()
	_, b, err := a.conn.Read(ctx)
	if err != nil {
		return err
	}
	var f terminalFrame
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	a.output.Write(f.Bytes)
	switch f.Type {
	case "lease_acquired":
		a.lease = true
	case "lease_released", "lease_lost":
		a.lease = false
	case "watchers":
		a.list = strings.Trim(fmt.Sprint(f.Watchers), "[]")
	}
	return nil
}

func (a *terminal) typeIn(text string) {
	a.t.Helper()
	b, err := json.Marshal(terminalFrame{Type: "input", Bytes: []byte(text)})
	if err != nil {
		a.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), waittest.Patience)
	defer cancel()
	if err := a.conn.Write(ctx, websocket.MessageText, b); err != nil {
		a.t.Fatal(err)
	}
}

func (a *terminal) awaitList(list string) {
	a.t.Helper()
	a.until(list, func() bool { return a.list == list })
}

func (a *terminal) awaitOutput(text string) {
	a.t.Helper()
	a.until(text, func() bool { return bytes.Contains(a.output.Bytes(), []byte(text)) })
}

// awaitClose reads until the socket is closed. The close frame must have a status code, which it returns.
func (a *terminal) awaitClose() websocket.StatusCode {
	a.t.Helper()
	for {
		err := a.read()
		if err == nil {
			continue
		}
		var closed websocket.CloseError
		if !errors.As(err, &closed) {
			a.t.Errorf("the terminal ended without a code: %v", err)
		}
		return closed.Code
	}
}
