package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// fixture is an orchestrator with a worker, and one run of a shell to which a test
// attaches.
type fixture struct {
	*testing.T
	lab *lab
	env []string
	up  *process
	run string
}

// echoing is a catalog with a provider that prints each line that it reads, and
// the size of its terminal. On SIGINT it prints a line and continues.
const echoing = `
[providers.echo]
bin = "sh"
argv_template = ["-c", "trap 'echo got-interrupt' INT; stty -echo; echo ready; while :; do if read -r line; then echo \"said:$line:$(stty size)\"; fi; done"]
installed_detection = ["-c", "exit 0"]
`

func newFixture(t *testing.T) *fixture {
	t.Helper()
	l := newLab(t.TempDir())
	d := &fixture{T: t, lab: l}
	d.env = append([]string{"PATH=" + os.Getenv("PATH")}, l.vars()...)
	t.Cleanup(l.close)
	data := l.dir + "/data"
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data+"/providers.toml", []byte(echoing), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.up, err = l.start(d.env, "up", "--host-name", "desk"); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "SVC_API_URL="+d.up.url)
	d.run = d.svc("task", "add", "Talk", "--run", "--provider", "echo", "-o", "name")
	// The log may be relayed before the start is reported.
	if err := await(func() (bool, error) {
		return strings.Contains(d.svc("run", "logs", d.run), "ready") && strings.Contains(d.svc("run", "show", d.run), "running"), nil
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// svc runs a command that must succeed, and returns its standard output.
func (d *fixture) svc(args ...string) string {
	d.Helper()
	cmd := exec.Command("svc", args...)
	cmd.Env, cmd.Dir = d.env, d.lab.dir // no repository: a run would get a copy of it
	out, err := cmd.Output()
	if err != nil {
		d.Fatalf("svc %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (d *fixture) attach(cols, rows uint16) *terminal {
	d.Helper()
	t := atTerminal(d.T, d.env, cols, rows, "attach", d.run)
	t.sees("detach: Ctrl-\\ d")
	return t
}

func TestAttachTypesEchoesAndGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	term := atTerminal(t, d.env, 100, 30, "attach", d.run)
	before := term.fresh
	term.sees("attached to svc-" + d.run[:8] + " on desk; detach: Ctrl-\\ d")
	term.sees("ready")
	if !term.isRaw() {
		t.Error("the terminal is not in raw mode while attached")
	}

	term.types("hello\r")
	term.sees("said:hello:30 100") // the session has this terminal's size

	term.types("\x03")
	term.sees("got-interrupt")

	if err := pty.Setsize(term.tty, &pty.Winsize{Cols: 90, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	if err := await(func() (bool, error) {
		term.types("size\r")
		return strings.Contains(term.shown.String(), "said:size:20 90"), nil
	}); err != nil {
		t.Fatalf("the new size did not reach the session: %v\n%q", err, term.shown)
	}

	term.types("\x1cd")
	if code := term.exits(); code != 0 {
		t.Errorf("detaching ended with exit code %d, want 0", code)
	}
	term.sees("detached from svc-" + d.run[:8] + "; the run continues")
	if after := term.modes(); after != before {
		t.Errorf("the terminal's modes changed:\n before %+v\n after  %+v", before, after)
	}
	if shown := term.shown.String(); !strings.Contains(shown, "\x1b[?1049l") || !strings.Contains(shown, "\x1b[?25h") {
		t.Errorf("screen and cursor were not restored: %q", shown)
	}
	if got := d.svc("run", "show", d.run); !strings.Contains(got, "running") {
		t.Errorf("the run did not continue:\n%s", got)
	}
}

func TestAttachLetsThePrefixThroughWhenNothingFollows(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	term := d.attach(100, 30)
	term.sees("ready")
	// The session's own terminal is in cooked mode: its line discipline interprets
	// the prefix as the quit key, which ends the shell. The end of the run
	// therefore proves that the prefix arrived.
	term.types("\x1c")
	term.sees("on desk failed")
	if code := term.exits(); code != 0 {
		t.Errorf("the end of the run ended with exit code %d, want 0", code)
	}
}

func TestAttachGivesTheTerminalBackWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	term := atTerminal(t, d.env, 100, 30, "attach", d.run)
	before := term.fresh
	term.sees("ready")
	if err := d.up.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := term.exits(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	term.sees("the connection to the orchestrator")
	term.sees("attaches again when it is back")
	if after := term.modes(); after != before {
		t.Errorf("the terminal's modes changed:\n before %+v\n after  %+v", before, after)
	}
}

func TestAttachGivesTheTerminalBackOnSignals(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		term := atTerminal(t, d.env, 100, 30, "attach", d.run)
		before := term.fresh
		term.sees("ready")
		if err := term.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if code := term.exits(); code != 130 {
			t.Errorf("%v: exit code %d, want 130", s, code)
		}
		if after := term.modes(); after != before {
			t.Errorf("%v: the terminal's modes changed", s)
		}
	}
}

func TestAttachWatchesInALetterboxUntilTheLeaseIsFree(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	holder := d.attach(120, 40)
	holder.sees("ready")
	watcher := atTerminal(t, d.env, 60, 15, "attach", d.run)
	watcher.sees("owner is typing, and you may when they leave")
	watcher.sees("60×15 of 120×40 · detach: Ctrl-\\ d · owner is typing")
	watcher.types("nobody hears this\r")
	holder.types("mine\r")
	holder.sees("said:mine:40 120")
	watcher.sees("said:mine:40 120")

	holder.types("\x1cd")
	holder.exits()
	watcher.sees("you can type now")
	if err := await(func() (bool, error) {
		watcher.types("now\r")
		return strings.Contains(watcher.shown.String(), "said:now:15 60"), nil
	}); err != nil {
		t.Fatalf("the watcher could not type: %v\n%q", err, watcher.shown)
	}
	if strings.Contains(d.svc("run", "logs", d.run), "nobody hears this") {
		t.Error("the watcher's input reached the session")
	}
	watcher.types("\x1cd")
	if code := watcher.exits(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestAttachTellsAViewerWhoTypes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	token := d.svc("token", "create", "visitor", "--role", "viewer")
	viewer := atTerminal(t, append(d.env, "SVC_TOKEN="+token), 120, 40, "attach", d.run)
	viewer.sees("watching svc-" + d.run[:8] + " on desk: nobody is typing; detach: Ctrl-\\ d")
	holder := atTerminal(t, d.env, 120, 40, "attach", d.run)
	holder.sees("attached to svc-" + d.run[:8] + " on desk; visitor watches; detach: Ctrl-\\ d")
	viewer.types("x")
	viewer.sees("your token may watch but not type")
	for _, term := range []*terminal{viewer, holder} {
		term.types("\x1cd")
		if code := term.exits(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
}

func TestUpShowsTheSignInLinkOnATerminalOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t.TempDir())
	env := append([]string{"PATH=" + os.Getenv("PATH")}, l.vars()...)
	t.Cleanup(l.close)
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	term := atTerminal(t, env, 120, 40, "up", "--port", "0", "--host-name", "laptop")
	term.sees(`worker "laptop" online`)
	term.sees("next   ")
	token, err := os.ReadFile(l.dir + "/data/token")
	if err != nil {
		t.Fatal(err)
	}
	term.sees("/#token=" + strings.TrimSpace(string(token)))
	term.types("\x03")
	if code := term.exits(); code != 0 {
		t.Errorf("Ctrl-C ended it with exit code %d, want 0", code)
	}
}
