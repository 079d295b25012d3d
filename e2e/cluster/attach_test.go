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
)

// terminal is someone who is attached to a run.
type terminal struct {
	t      *testing.T
	conn   *websocket.Conn
	output bytes.Buffer
	lease  bool
	list   string // of who sees the terminal, as it was told last: * holds the keyboard, ! is this one, ~ is not attached
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

// String is a watcher in short.
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

// attach shares the terminal of a run by an orchestrator, and waits for the keyboard.
func (s *site) attach(at *proctest.Orchestrator, runID string) *terminal {
	s.t.Helper()
	a := &terminal{t: s.t}
	proctest.Eventually(s.t, proctest.Patience, "the terminal opens", func() bool {
		var err error
		a.conn, err = at.Client().Attach(s.t.Context(), runID)
		return err == nil
	})
	s.t.Cleanup(func() { _ = a.conn.CloseNow() })
	a.until("the keyboard", func() bool { return a.lease })
	return a
}

// attachAs shares the terminal as someone with a token of that name, and is told who else sees it.
func (s *site) attachAs(at *proctest.Orchestrator, name string, role svc.Role, runID string) *terminal {
	s.t.Helper()
	conn, err := s.named(at, name, role).AttachListing(s.t.Context(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &terminal{t: s.t, conn: conn}
}

// named is a client of an orchestrator with a new token of that name.
func (s *site) named(at *proctest.Orchestrator, name string, role svc.Role) *api.Client {
	s.t.Helper()
	token, err := s.client.CreateToken(s.t.Context(), api.CreateToken{Name: name, Role: role})
	if err != nil {
		s.t.Fatal(err)
	}
	c := at.Client()
	c.Token = token.Token
	return c
}

// until reads frames until something holds.
func (a *terminal) until(what string, holds func() bool) {
	a.t.Helper()
	for !holds() {
		if err := a.read(); err != nil {
			a.t.Fatalf("the terminal ended before it had %s: %v; it has %q", what, err, a.output.String())
		}
	}
}

func (a *terminal) read() error {
	ctx, cancel := context.WithTimeout(a.t.Context(), proctest.Patience)
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
	ctx, cancel := context.WithTimeout(a.t.Context(), proctest.Patience)
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

// awaitClose reads to the end, which must say why it is one.
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
