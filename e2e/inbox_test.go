package e2e

import (
	"os"
	"strings"
	"testing"
)

// In the inbox, a person sees new entries without a key press, dismisses a failure, attaches to a run, answers it and
// quits.
func TestTheInboxIsLiveAndItsKeysWork(t *testing.T) {
	t.Parallel()
	l := newLab(t.TempDir())
	t.Cleanup(l.close)
	d := &fixture{T: t, lab: l}
	d.env = append([]string{"PATH=" + os.Getenv("PATH")}, l.vars()...)
	err := l.prepare()
	if err == nil {
		d.up, err = l.start(d.env, "up", "--host-name", "desk")
	}
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "SVC_API_URL="+d.up.url)
	broken := d.svc("task", "add", "Broken", "-o", "name")
	d.svc("run", "start", broken, "--provider", "demo", "--", "--delay", "10ms", "--exit", "3")
	if err := await(func() (bool, error) { return strings.Contains(d.svc("inbox", "-o", "name"), "failed."), nil }); err != nil {
		t.Fatal(err)
	}
	term := atTerminal(t, append(d.env, "NO_COLOR=1"), 120, 20, "inbox")
	for _, text := range []string{"Broken", "failed: exit code 3", "Enter attach · a answer · d dismiss"} {
		term.sees(text)
	}
	term.types("a")
	term.sees("nothing was asked")

	// A new question appears at the top without a key press; the selected entry stays selected.
	ask := d.svc("task", "add", "Ask", "-o", "name")
	run := d.svc("run", "start", ask, "--provider", "demo", "-o", "name", "--", "--delay", "10ms", "--ask")
	term.sees("needs input: ")
	term.types("d")
	if err := await(func() (bool, error) {
		_, frame, _ := cutLast(term.shown.String(), "\x1b[?2026h")
		return strings.Contains(frame, "> ") && strings.Contains(frame, "Ask") && !strings.Contains(frame, "Broken"), nil
	}); err != nil {
		t.Fatalf("the failure was not dismissed: %v\n%q", err, term.shown)
	}
	term.types("\r")
	term.sees("detach: Ctrl-\\ d")
	term.types("\x1cd")
	term.sees("the run continues")
	if err := await(func() (bool, error) {
		_, after, _ := cutLast(term.shown.String(), "the run continues")
		return strings.Contains(after, "d dismiss"), nil
	}); err != nil {
		t.Fatalf("the view did not come back: %v\n%q", err, term.shown)
	}
	term.types("a")
	term.sees("answer (empty: none): ")
	term.types("of course\r")
	term.sees("nothing needs you")
	if err := await(func() (bool, error) { return strings.Contains(d.svc("run", "logs", run), "Thank you"), nil }); err != nil {
		t.Fatalf("the agent was not answered: %v\n%s", err, d.svc("run", "logs", run))
	}
	term.types("q")
	if code := term.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if term.isRaw() || term.modes() != term.fresh {
		t.Error("the terminal is not as it was")
	}
}
