package tmux

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/internal/waittest"
)

// viewer reads an attachment to its end, like a program that shows it.
type viewer struct {
	*Attachment
	mu   sync.Mutex // guards seen
	seen bytes.Buffer
	read chan error // receives the error with which reading ended
}

func attach(t *testing.T, server Server, pane string, cols, rows int) *viewer {
	t.Helper()
	attachment, err := server.Attach(t.Context(), pane, cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{Attachment: attachment, read: make(chan error, 1)}
	go func() {
		_, err := io.Copy(v, struct{ io.Reader }{attachment})
		v.read <- err
	}()
	t.Cleanup(func() { _ = attachment.Close() })
	return v
}

// Write keeps the output for the terminal.
func (v *viewer) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen.Write(p)
}

func (v *viewer) await(t *testing.T, want string) {
	t.Helper()
	eventually(t, "the viewer sees "+want, func() (bool, string) {
		v.mu.Lock()
		defer v.mu.Unlock()
		return strings.Contains(v.seen.String(), want), v.seen.String()
	})
}

func (v *viewer) keys(t *testing.T, keys string) {
	t.Helper()
	if _, err := v.Attachment.Write([]byte(keys)); err != nil {
		t.Fatal(err)
	}
}

func TestAttachDrawsTheScreenEchoesAndKeepsThePaneSize(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: shell(`echo earlier output; exec cat`)})
	awaitScreen(t, server, session.Pane, "earlier output")
	v := attach(t, server, session.Pane, 80, 24)
	v.await(t, "earlier output")
	v.keys(t, "typed by hand")
	v.await(t, "typed by hand")
	if err := v.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	eventually(t, "tmux knows the terminal's new size", func() (bool, string) {
		out, err := server.run(t.Context(), []string{"list-clients", "-F", "#{client_width}x#{client_height}"})
		return err == nil && string(out) == "100x30\n", string(out)
	})
	found, err := server.Inspect(t.Context(), session.Server)
	if err != nil {
		t.Fatal(err)
	}
	if found.Cols != 220 || found.Rows != 50 || found.Clients != 1 {
		t.Errorf("attached: %dx%d with %d clients, want 220x50 with 1", found.Cols, found.Rows, found.Clients)
	}
}

func TestResizeChangesThePaneWhileAttached(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: shell(`trap 'stty size' WINCH; echo ready; while :; do read x; done`)})
	awaitScreen(t, server, session.Pane, "ready")
	attach(t, server, session.Pane, 80, 24).await(t, "ready")
	if err := server.Resize(t.Context(), session.Pane, 100, 30); err != nil {
		t.Fatal(err)
	}
	awaitScreen(t, server, session.Pane, "30 100")
	if err := server.Resize(t.Context(), session.Pane, 0, 30); err == nil {
		t.Error("a size of 0 columns was taken")
	}
}

func TestEveryKeyOfAnAttachedTerminalReachesTheProgram(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session, typed := startRaw(t, server, "")
	v := attach(t, server, session.Pane, 220, 50)
	v.await(t, "ready")
	var want strings.Builder
	send := func(keys string) {
		t.Helper()
		v.keys(t, keys)
		want.WriteString(keys)
		awaitContent(t, typed, want.String())
	}
	for char := range 128 {
		send(string(rune(char)))
	}
	// The prefix of tmux and its commands, a mouse click, arrows, function keys, Meta, UTF-8.
	for _, keys := range []string{"\x02d", "\x02&y", "\x02:kill-server\r", "\x02[", "\x1b[A", "\x1bOP", "\x1b[15~", "\x1bx", "é漢👍"} {
		send(keys)
	}
}

func TestColoursReachTheTerminalUnreduced(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: shell(`printf '\033[38;2;1;2;3mtrue\033[0m\033]52;c;c2VjcmV0\007'; exec cat`)})
	v := attach(t, server, session.Pane, 220, 50)
	v.await(t, "38;2;1;2;3m")
	v.keys(t, "echoed after")
	v.await(t, "echoed after")
	v.mu.Lock()
	defer v.mu.Unlock()
	if strings.Contains(v.seen.String(), "]52;") {
		t.Errorf("a program reached the clipboard: %q", v.seen.String())
	}
}

func TestCloseEndsTheClientAndNotTheSession(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	v := attach(t, server, session.Pane, 80, 24)
	v.keys(t, "hello")
	v.await(t, "hello")
	for range 2 {
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-v.read; err != nil {
		t.Errorf("reading ended with %v, want io.EOF", err)
	}
	eventually(t, "tmux has no client", func() (bool, string) {
		found, err := server.Inspect(t.Context(), session.Server)
		return err == nil && found.Clients == 0 && !found.Dead, ""
	})
}

func TestCloseEndsAReadEvenWhenTheServerIsWedged(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	v := attach(t, server, session.Pane, 80, 24)
	v.keys(t, "hello")
	v.await(t, "hello")
	if err := session.Server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-v.read:
		if err != nil {
			t.Errorf("reading ended with %v, want io.EOF", err)
		}
	case <-time.After(waittest.Patience):
		t.Error("Read outlives Close")
	}
}

func TestAttachmentEndsWithTheSession(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	v := attach(t, server, session.Pane, 80, 24)
	v.keys(t, "hello")
	v.await(t, "hello")
	if err := server.Kill(t.Context(), session.Server); err != nil {
		t.Fatal(err)
	}
	<-v.Done()
	if err := <-v.read; err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("reading ended with %v, want io.EOF", err)
	}
	if _, err := server.Attach(t.Context(), session.Pane, 80, 24); !errors.Is(err, ErrNoServer) {
		t.Errorf("Attach after the end: %v, want ErrNoServer", err)
	}
}
