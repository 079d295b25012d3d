package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/process"
)

func TestStartAnswersWhatInspectFinds(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	started := start(t, server, Spec{Name: "svc-1a", Argv: []string{"/bin/cat"}, LogFile: file(server, "log")})
	found, err := server.Inspect(t.Context(), started.Server)
	if err != nil {
		t.Fatal(err)
	}
	if found != started {
		t.Errorf("Inspect = %+v, want %+v", found, started)
	}
	want := Session{
		Server: started.Server, Name: "svc-1a", Pane: "%0", Process: started.Process,
		Piped: true, Cols: DefaultCols, Rows: DefaultRows,
	}
	if started != want {
		t.Errorf("Start = %+v, want %+v", started, want)
	}
	for what, process := range map[string]process.ID{"server": started.Server, "program": started.Process} {
		if alive, err := process.Alive(); !alive || err != nil || process.Start == 0 {
			t.Errorf("%s %+v: alive %v, error %v", what, process, alive, err)
		}
	}
}

// flood starts a program that prints 2,000 lines and ends, and returns its log when the pane is dead.
func flood(t *testing.T, server Server, log, ending string) (got, want string) {
	t.Helper()
	var lines strings.Builder
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&lines, "line %d of the flood\r\n", i)
	}
	session := start(t, server, Spec{
		Argv:    shell(`i=1; while [ $i -le 2000 ]; do echo "line $i of the flood"; i=$((i+1)); done; ` + ending),
		LogFile: log,
	})
	if err := session.Process.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitDead(t, server)
	if err := waitLog(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(t.Context(), session.Server); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), lines.String()
}

func TestLogIsByteIdenticalFromTheFirstByteToTheLast(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	for round := range 20 {
		got, want := flood(t, server, file(server, fmt.Sprint("log", round)), "sleep 0.2")
		if got != want {
			t.Fatalf("round %d: log has %d bytes, want %d", round, len(got), len(want))
		}
	}
}

func TestLogOfAProgramThatEndsAtOnceIsExactAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	for round := range 5 {
		got, want := flood(t, server, file(server, fmt.Sprint("log", round)), "exit 3")
		if got == "" || !strings.HasPrefix(want, got) {
			t.Fatalf("round %d: log has %d bytes that are no beginning of the %d", round, len(got), len(want))
		}
	}
}

func TestLogIsPrivateAndAppendedTo(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	log := file(server, "log")
	for range 2 {
		start(t, server, Spec{Argv: shell(`echo hi; sleep 0.2`), LogFile: log})
		session := awaitDead(t, server)
		if err := waitLog(t.Context(), log); err != nil {
			t.Fatal(err)
		}
		if err := server.Kill(t.Context(), session.Server); err != nil {
			t.Fatal(err)
		}
	}
	awaitContent(t, log, "hi\r\nhi\r\n")
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log has mode %v (error %v), want 0600", info.Mode(), err)
	}
}

// hostile are texts that tmux, a format, strftime or a shell could misinterpret.
var hostile = []string{
	`;`, `a;`, `a\;`, `; kill-server ;`, `#{pid}`, `#(touch pwned)`, `##[x]#[y]`, `%H%%`, `$(touch pwned)`,
	"`touch pwned`", `it's "quoted"`, "two\nlines", `-t`, `--`, ``, `back\slash\`, `~`, `{ }`, `漢字`,
}

func TestArgumentsReachTheProgramUnread(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	out := file(server, "out")
	argv := append(shell(`f=$1; shift; printf '%s\0' "$@" > "$f.tmp"; mv "$f.tmp" "$f"; cat`, out), hostile...)
	start(t, server, Spec{Argv: argv})
	awaitContent(t, out, strings.Join(hostile, "\x00")+"\x00")
	assertNotPwned(t, server)
}

func TestSingleArgumentIsNotAShellLine(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	start(t, server, Spec{Argv: []string{"touch pwned; cat"}})
	session := awaitDead(t, server)
	awaitScreen(t, server, session.Pane, "not found")
	assertNotPwned(t, server)
}

func TestPathsMayHoldAnything(t *testing.T) {
	t.Parallel()
	for i, name := range hostile {
		name = strings.ReplaceAll(name, "/", "_") + "=x"
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			dir := file(server, name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(dir, "program")
			if err := os.WriteFile(script, []byte("#!/bin/sh\npwd -P\ncat\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(dir, name+"log;")
			start(t, server, Spec{Argv: []string{script}, Dir: dir, LogFile: log})
			awaitContent(t, log, strings.ReplaceAll(dir, "\n", "\r\n")+"\r\n")
			assertNotPwned(t, server)
		})
	}
}

func TestSinkGetsTheOutputAndItsArgumentsUnread(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	out := file(server, "out")
	sink := append(shell(`f=$1; shift; { printf '%s\0' "$@"; cat; } > "$f"`, out), hostile...)
	start(t, server, Spec{Argv: shell(`echo hello; exec cat`), Sink: sink})
	awaitContent(t, out, strings.Join(hostile, "\x00")+"\x00hello\r\n")
	assertNotPwned(t, server)
}

func assertNotPwned(t *testing.T, server Server) {
	t.Helper()
	if _, err := os.Stat(file(server, "pwned")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a text was executed")
	}
	if _, err := server.Inspect(t.Context(), process.ID{}); err != nil {
		t.Errorf("the session did not survive: %v", err)
	}
}

func TestProgramGetsOnlyTheEnvironmentItIsGiven(t *testing.T) {
	t.Setenv("TMUX", "/tmp/none,1,0") // not parallel: the caller's environment must not leak
	t.Setenv("LEAK", "yes")
	server := newServer(t)
	out := file(server, "out")
	start(t, server, Spec{
		Argv: shell(`env > "$1.tmp"; mv "$1.tmp" "$1"; cat`, out),
		Env:  []string{"SECRET=a;", "SECRET=b #{pid};", "TMUX=x", "COLORTERM=no"},
	})
	var env string
	eventually(t, "the environment is written", func() (bool, string) {
		text, err := os.ReadFile(out)
		env = "\n" + string(text)
		return err == nil, ""
	})
	for _, want := range []string{"SECRET=b #{pid};", "COLORTERM=no", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("no %s in %s", want, env)
		}
	}
	for _, name := range []string{"TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LEAK"} {
		if strings.Contains(env, "\n"+name+"=") {
			t.Errorf("%s is in %s", name, env)
		}
	}
}

func TestStartRefusesALiveServer(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	first := start(t, server, Spec{Argv: []string{"cat"}})
	if _, err := server.Start(t.Context(), Spec{Name: "other", Argv: []string{"cat"}}); !errors.Is(err, ErrRunning) {
		t.Errorf("second Start: %v, want ErrRunning", err)
	}
	if err := os.Remove(server.Socket); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Start(t.Context(), Spec{Name: "other", Argv: []string{"cat"}}); !errors.Is(err, ErrSocketLost) {
		t.Errorf("Start without the socket file: %v, want ErrSocketLost", err)
	}
	if alive, err := first.Process.Alive(); !alive {
		t.Errorf("the first session is gone: %v", err)
	}
}

func TestStartTakesOverAStaleSocket(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	first := start(t, server, Spec{Argv: []string{"cat"}})
	if err := first.Server.Signal(9); err != nil {
		t.Fatal(err)
	}
	if err := first.Server.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(server.Socket); err != nil {
		t.Fatalf("no stale socket to test with: %v", err)
	}
	if second := start(t, server, Spec{Argv: []string{"cat"}}); second.Server == first.Server {
		t.Errorf("second session has the server of the first: %+v", second)
	}
}

func TestStartLeavesNothingAfterAnError(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	good := Spec{Name: "test", Argv: []string{"cat"}, Dir: filepath.Dir(server.Socket)}
	for what, try := range map[string]func() error{
		"no such directory": func() error {
			bad := good
			bad.Dir = file(server, "missing")
			_, err := server.Start(t.Context(), bad)
			return err
		},
		"arguments too long": func() error {
			bad := good
			bad.Argv = []string{"echo", strings.Repeat("x", 20000)}
			_, err := server.Start(t.Context(), bad)
			return err
		},
		"bad name":    func() error { bad := good; bad.Name = "a:b"; _, err := server.Start(t.Context(), bad); return err },
		"no program":  func() error { bad := good; bad.Argv = nil; _, err := server.Start(t.Context(), bad); return err },
		"bad size":    func() error { bad := good; bad.Cols = -1; _, err := server.Start(t.Context(), bad); return err },
		"ended early": func() error { _, err := server.Start(ended, good); return err },
	} {
		if err := try(); err == nil || errors.Is(err, ErrNotInstalled) {
			t.Errorf("%s: error %v", what, err)
		}
		if _, err := server.Inspect(t.Context(), process.ID{}); !errors.Is(err, ErrNoServer) {
			t.Errorf("%s: left a server: %v", what, err)
		}
	}
}

func TestMissingBinaryAndUnusableSocketAreTold(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"no-such-tmux", "/no/such/tmux"} {
		server := Server{Socket: "/tmp/s", Bin: bin}
		if _, err := server.Version(t.Context()); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("Version with %s: %v, want ErrNotInstalled", bin, err)
		}
		if _, err := server.Inspect(t.Context(), process.ID{}); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("Inspect with %s: %v, want ErrNotInstalled", bin, err)
		}
	}
	for _, socket := range []string{"", "relative", "/" + strings.Repeat("x", MaxSocketPath)} {
		server := Server{Socket: socket, Bin: "no-such-tmux"}
		if _, err := server.Start(t.Context(), Spec{Name: "a", Argv: []string{"cat"}}); !errors.Is(err, ErrSocketPath) {
			t.Errorf("Start on %q: %v, want ErrSocketPath", socket, err)
		}
	}
	if version, err := (Server{}).Version(t.Context()); err != nil || version == "" || strings.Contains(version, "tmux") {
		t.Errorf("Version = %q, %v", version, err)
	}
}

func TestLongestSocketPathWorks(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.Socket += strings.Repeat("x", MaxSocketPath-len(server.Socket))
	t.Cleanup(func() { _ = server.Kill(context.Background(), process.ID{}) })
	start(t, server, Spec{Argv: []string{"cat"}})
}

func TestStartUnderALowLimitOfOpenFilesIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{12, 16, 17, 18, 19, 20, 22, 64} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			server.Bin = file(server, "tmux")
			server.Timeout = 2 * time.Second
			script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec tmux \"$@\"\n", limit)
			if err := os.WriteFile(server.Bin, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			log := file(server, "log")
			session, err := server.Start(t.Context(), Spec{
				Name: "test", Argv: shell(`echo whole; exec cat`), Dir: filepath.Dir(server.Socket), LogFile: log,
			})
			if err == nil {
				awaitContent(t, log, "whole\r\n")
				awaitReady(t, session.Process)
				return
			}
			if limit >= 64 {
				t.Fatal(err)
			}
			server.Bin = ""
			if _, err := server.Inspect(t.Context(), process.ID{}); !errors.Is(err, ErrNoServer) {
				t.Errorf("left a server: %v", err)
			}
		})
	}
}

// logQuiet is how long a log must not grow before it counts as complete.
const logQuiet = 200 * time.Millisecond

// waitLog waits until a log has stopped growing. Call it when the pane is dead and before Kill: then tmux has
// passed all output to its sink, and the log is complete when the sink has written it. tmux does not report
// when that is, so a sink that writes nothing for a fifth of a second counts as finished.
func waitLog(ctx context.Context, logFile string) error {
	last, since := int64(-1), time.Now()
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		info, err := os.Stat(logFile)
		if err != nil {
			return false, err
		}
		if info.Size() != last {
			last, since = info.Size(), time.Now()
		}
		return time.Since(since) >= logQuiet, nil
	})
	if err != nil {
		return fmt.Errorf("wait for log: %w", err)
	}
	return nil
}
