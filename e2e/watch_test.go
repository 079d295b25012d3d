package e2e

import (
	"strings"
	"testing"
)

func TestWatchingOnATerminalDrawsOverTheLastAnswer(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("host", "create", "first")
	term := atTerminal(t, env, 90, 12, "host", "list", "--watch")
	term.sees("first")
	term.sees("watching; Ctrl-C ends")
	svc("host", "create", "second")
	term.sees("second")
	term.types("\x03")
	if code := term.exits(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	shown := term.shown.String()
	const secondScreen, firstScreen = "\x1b[?1049h", "\x1b[?1049l"
	if strings.Count(shown, secondScreen) != 1 || strings.Count(shown, firstScreen) != 1 {
		t.Errorf("the terminal's first screen was not restored: %q", shown)
	}
	_, after, _ := strings.Cut(shown, firstScreen)
	for _, name := range []string{"first", "second"} {
		if !strings.Contains(after, name) {
			t.Errorf("the last list did not stay on the screen, %s is missing: %q", name, after)
		}
	}
	if strings.Contains(after, "\x1b[?25l") {
		t.Errorf("the cursor stayed hidden: %q", after)
	}
}
