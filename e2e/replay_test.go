package e2e

import (
	"strings"
	"testing"
)

// A person replays a run that is still running. The replay stops at the last screen; the person quits.
func TestAReplayShowsTheRunAndGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, keys := range []string{"q", "\x03"} {
		term := atTerminal(t, d.env, 100, 30, "run", "replay", d.run)
		term.sees("ready")
		term.sees("the recording ends here; q quits")
		if !term.isRaw() {
			t.Error("the terminal is not in raw mode while it plays")
		}
		term.types(keys)
		if code := term.exits(); code != 0 {
			t.Errorf("leaving by %q ended with exit code %d, want 0", keys, code)
		}
		if term.modes() != term.fresh {
			t.Error("the terminal is not as it was before")
		}
		if shown := term.shown.String(); !strings.Contains(shown, "\x1b[?1049l") || !strings.Contains(shown, "220 columns and 50 rows, this terminal has 100 and 30") {
			t.Errorf("after the replay the terminal has %q", shown)
		}
	}
}
