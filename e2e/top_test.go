package e2e

import (
	"strings"
	"testing"
)

// In svc top, a person attaches to a run, returns, reads its log, stops it and quits.
func TestTopShowsTheFleetAndItsKeysWork(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	term := atTerminal(t, append(d.env, "NO_COLOR=1"), 100, 20, "top")
	for _, text := range []string{"0 need you, 1 active, 1 hosts", "> " + " " + d.run[:8], "Talk", "ready", "desk", "online", "↑↓ choose"} {
		term.sees(text)
	}
	frames := term.shown.String()
	if strings.Contains(frames, "\x1b[2J") || strings.Contains(frames, "\x1b[3") || strings.Count(frames, "\x1b[?1049h") != 1 {
		t.Errorf("it clears the screen or is coloured: %q", frames)
	}

	// Another run appears without a key press.
	second := d.svc("task", "add", "Wait", "--run", "--provider", "echo", "-o", "name")
	term.sees("2 active")
	term.sees(second[:8])

	// The new run is listed above the first one. k moves up and Down moves back to the first run; Enter attaches to it.
	chosen := d.chosen(term)
	term.types("k")
	if err := await(func() (bool, error) { return d.chosen(term) != chosen, nil }); err != nil {
		t.Fatalf("k does not move: %v\n%q", err, term.shown)
	}
	term.types("\x1b[B")
	if err := await(func() (bool, error) { return d.chosen(term) == chosen, nil }); err != nil {
		t.Fatalf("Down does not move: %v\n%q", err, term.shown)
	}
	term.types("\r")
	term.sees("detach: Ctrl-\\ d")
	term.types("hello from top\r")
	term.sees("said:hello from top:")
	term.types("\x1cd")
	term.sees("the run continues")
	back := func(from string) {
		t.Helper()
		if err := await(func() (bool, error) {
			_, after, _ := cutLast(term.shown.String(), from)
			return strings.Contains(after, "↑↓ choose"), nil
		}); err != nil {
			t.Fatalf("the view did not come back: %v\n%q", err, term.shown)
		}
	}
	back("the run continues")

	term.types("l")
	term.sees("Enter goes back")
	term.types("\r")
	back("Enter goes back")
	term.types("s")
	term.sees("? y stops it")
	term.types("n") // not this time
	back("? y stops it")
	term.types("sy")
	if err := await(func() (bool, error) {
		_, after, _ := cutLast(term.shown.String(), "svc top")
		return strings.Contains(after, "1 active"), nil
	}); err != nil {
		t.Fatalf("nothing was stopped: %v\n%q", err, term.shown)
	}
	stopped := 0
	for _, id := range []string{d.run, second} {
		if strings.Contains(d.svc("run", "show", id), "stop") {
			stopped++
		}
	}
	if stopped != 1 {
		t.Errorf("%d runs were stopped, want 1", stopped)
	}
	term.types("q")
	if code := term.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if term.isRaw() || term.modes() != term.fresh {
		t.Error("the terminal is not as it was")
	}
	if shown := term.shown.String(); !strings.HasSuffix(strings.TrimRight(shown, "\r\n"+endMark), "\x1b[?25h\x1b[?1049l") {
		t.Errorf("the first screen was not restored: %q", shown[max(0, len(shown)-200):])
	}
}

// chosen returns the first 8 characters of the selected row in the last frame: the run's short id.
func (d *fixture) chosen(term *terminal) string {
	d.Helper()
	shown := term.shown.String()
	_, row, found := cutLast(shown, "\r\n>  ")
	if !found || len(row) < 8 {
		return ""
	}
	return row[:8]
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
