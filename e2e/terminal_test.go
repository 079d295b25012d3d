package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startServer starts an orchestrator without a worker. It returns the environment for commands, and a function that
// runs a command that must succeed.
func startServer(t *testing.T) (env []string, svc func(args ...string) string) {
	t.Helper()
	l := newLab(t.TempDir())
	env = append([]string{"PATH=" + os.Getenv("PATH")}, l.vars()...)
	t.Cleanup(l.close)
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	p, err := l.start(env, "serve")
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "SVC_API_URL="+p.url)
	return env, func(args ...string) string {
		t.Helper()
		cmd := exec.Command("svc", args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("svc %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

func TestTablesOnATerminalFitTheWindowAndTellAges(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("task", "add", strings.Repeat("A very long title. ", 20))
	term := atTerminal(t, env, 60, 20, "task", "list")
	if code := term.exits(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, term.shown)
	}
	term.sees("…")
	for line := range strings.Lines(term.shown.String()) {
		plain := strings.TrimRight(stripped(line), "\r\n")
		if n := len([]rune(plain)); n > 60 {
			t.Errorf("a line has %d columns, the window 60: %q", n, plain)
		}
	}
	if shown := term.shown.String(); strings.Contains(shown, "T") && strings.Contains(shown, "Z\r") {
		t.Errorf("a table on a terminal has a time instead of an age: %q", shown)
	}
}

func TestColoursOnATerminalAreLeftOutWhenNobodyWantsThem(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("host", "create", "here")
	for _, c := range []struct {
		env    []string
		args   []string
		colour bool
	}{
		{nil, []string{"host", "list"}, true},
		{[]string{"NO_COLOR=1"}, []string{"host", "list"}, false},
		{nil, []string{"host", "list", "--color", "never"}, false},
		{[]string{"NO_COLOR=1"}, []string{"host", "list", "--color", "always"}, true},
	} {
		term := atTerminal(t, append(env[:len(env):len(env)], c.env...), 100, 20, c.args...)
		term.exits()
		term.sees("registered")
		if got := strings.Contains(term.shown.String(), "\x1b["); got != c.colour {
			t.Errorf("%v %v: coloured %v, want %v: %q", c.env, c.args, got, c.colour, term.shown)
		}
	}
}

func TestWhatCannotBeTakenBackIsAskedForOnATerminal(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("project", "create", "Old")
	no := atTerminal(t, env, 100, 20, "project", "archive", "old")
	no.sees("[y/N]")
	no.types("\r")
	if code := no.exits(); code != 1 {
		t.Errorf("the answer no ended with exit code %d, want 1", code)
	}
	if got := svc("project", "list", "-o", "name"); got != "old\n" {
		t.Errorf("after the answer no the projects are %q", got)
	}
	yes := atTerminal(t, env, 100, 20, "project", "archive", "old")
	yes.sees("[y/N]")
	yes.types("y\r")
	if code := yes.exits(); code != 0 {
		t.Errorf("the answer yes ended with exit code %d, want 0", code)
	}
	if got := svc("project", "show", "old"); !strings.Contains(got, "archived") {
		t.Errorf("after the answer yes the project is not archived:\n%s", got)
	}
}

func TestCtrlCEndsAWaitWithItsOwnExitCode(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("task", "add", "Never", "--run", "--provider", "demo")
	run := strings.TrimSpace(svc("run", "list", "-o", "name"))
	term := atTerminal(t, env, 100, 20, "run", "watch", run)
	term.sees("pending")
	term.types("\x03")
	if code := term.exits(); code != 130 {
		t.Errorf("exit code %d, want 130\n%q", code, term.shown)
	}
}

// stripped returns a text without the escape sequences of colours.
func stripped(s string) string {
	for {
		from := strings.Index(s, "\x1b[")
		if from < 0 {
			return s
		}
		to := strings.IndexByte(s[from:], 'm')
		if to < 0 {
			return s
		}
		s = s[:from] + s[from+to+1:]
	}
}
