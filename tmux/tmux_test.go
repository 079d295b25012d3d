package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc/internal/waittest"
	"svc/process"
)

// testPrefix begins the names of all folders of this run, so that it appears in the command line of every tmux
// that the run has started.
var testPrefix = fmt.Sprintf("tmx%d-", os.Getpid())

// TestMain fails if the tests leave a tmux process behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftBehind(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes left behind:\n%s\n", strings.Join(left, "\n"))
		code = 1
	}
	os.Exit(code)
}

func leftBehind() []string {
	var left []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), "/"+testPrefix) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		if p, err := process.Of(pid); err == nil {
			if alive, _ := p.Alive(); alive {
				left = append(left, file+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return left
}

// newServer returns a server in a short folder of its own. It is killed when the test ends.
func newServer(t *testing.T) Server {
	t.Helper()
	dir, err := os.MkdirTemp("", testPrefix)
	if err != nil {
		t.Fatal(err)
	}
	server := Server{Socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
		defer cancel()
		if err := server.Kill(ctx, process.ID{}); err != nil {
			t.Errorf("clean up: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return server
}

// file returns the path of a file beside the server's socket.
func file(server Server, name string) string {
	return filepath.Join(filepath.Dir(server.Socket), name)
}

func start(t *testing.T, server Server, spec Spec) Session {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	if spec.Dir == "" {
		spec.Dir = filepath.Dir(server.Socket)
	}
	session, err := server.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func shell(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", script, "sh"}, args...)
}

// eventually polls until ok returns true; otherwise it fails with the value that ok saw last.
func eventually(t *testing.T, what string, ok func() (done bool, saw string)) {
	t.Helper()
	var saw string
	holds := func() (done bool) {
		done, saw = ok()
		return done
	}
	if !waittest.Within(waittest.Patience, holds) {
		t.Fatalf("%s: never; last seen: %q", what, saw)
	}
}

func awaitContent(t *testing.T, path, want string) {
	t.Helper()
	eventually(t, path+" has the wanted content", func() (bool, string) {
		got, _ := os.ReadFile(path)
		return string(got) == want, string(got)
	})
}

func awaitDead(t *testing.T, server Server) Session {
	t.Helper()
	var session Session
	eventually(t, "the pane dies", func() (bool, string) {
		var err error
		if session, err = server.Inspect(t.Context(), process.ID{}); err != nil {
			t.Fatal(err)
		}
		return session.Dead, ""
	})
	return session
}

func awaitScreen(t *testing.T, server Server, pane, want string) {
	t.Helper()
	eventually(t, "the screen shows "+want, func() (bool, string) {
		screen := capture(t, server, pane, CaptureOpts{})
		return strings.Contains(screen, want), strings.TrimSpace(screen)
	})
}

func capture(t *testing.T, server Server, pane string, opts CaptureOpts) string {
	t.Helper()
	screen, err := server.Capture(t.Context(), pane, opts)
	if err != nil {
		t.Fatal(err)
	}
	return screen
}
