package tmux

import (
	"strings"
	"testing"
)

// screenOf starts a program that prints text and ends, and captures its last screen.
func screenOf(t *testing.T, text string, opts CaptureOpts) string {
	t.Helper()
	server := newServer(t)
	start(t, server, Spec{Argv: shell(`printf %b "$1"; sleep 0.2`, text), Cols: 20, Rows: 6})
	return capture(t, server, awaitDead(t, server).Pane, opts)
}

func TestCaptureIsTheExactLastScreenOfADeadPane(t *testing.T) {
	t.Parallel()
	lines := []string{"one", "  two  ", "", "four", "five", "six"}
	got := screenOf(t, strings.Join(lines, `\r\n`), CaptureOpts{})
	if want := "one\n  two\n\nfour\nfive\nsix"; got != want {
		t.Errorf("screen = %q, want %q", got, want)
	}
}

func TestCaptureKeepsBlankRowsAndWideCharacters(t *testing.T) {
	t.Parallel()
	got := screenOf(t, `漢字x é 👍\r\n\033[?25l`, CaptureOpts{})
	if want := "漢字x é 👍\n\n\n\n\n"; got != want {
		t.Errorf("screen = %q, want %q", got, want)
	}
}

func TestCaptureTakesNoNameForAPane(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	start(t, server, Spec{Argv: shell("exec cat")})
	if _, err := server.Capture(t.Context(), "test", CaptureOpts{}); err == nil {
		t.Error("a name was taken as a pane")
	}
}

func TestCaptureOfTheAlternateScreen(t *testing.T) {
	t.Parallel()
	got := screenOf(t, `before\033[?1049h\033[Hfull screen`, CaptureOpts{})
	if want := "full screen\n\n\n\n\n"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestCaptureWithColorsKeepsAttributesOnly(t *testing.T) {
	t.Parallel()
	text := `\033]0;title\007\033[1;38;2;1;2;3mhi\033[0m  \r\n\033[41mbar  \033[0m  \r\n\033(0lqk\033(B q`
	got := screenOf(t, text, CaptureOpts{Colors: true})
	rows := strings.Split(got, "\n")
	if want := "\x1b[1m\x1b[38;2;1;2;3mhi\x1b[0m"; !strings.HasPrefix(rows[0], want) || strings.Contains(rows[0], " ") {
		t.Errorf("row 0 = %q, want %q and no blanks", rows[0], want)
	}
	if !strings.HasPrefix(rows[1], "\x1b[41mbar  \x1b[") || strings.HasSuffix(rows[1], " ") {
		t.Errorf("row 1 = %q, want its red blanks and no others", rows[1])
	}
	if !strings.Contains(rows[2], "┌─┐ q") {
		t.Errorf("row 2 = %q, want line drawing", rows[2])
	}
	if plain := screenOf(t, text, CaptureOpts{}); plain != "hi\nbar\n┌─┐ q\n\n\n" {
		t.Errorf("plain = %q", plain)
	}
}

func TestCleanCapture(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, raw, plain, colored string }{
		{"hyperlink", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\.", "link.", "link."},
		{"other sequences", "a\x1b[2Jb\x1b[?25lc\x1b(Bd\x1b7e", "abcde", "abcde"},
		{"a reset ends what is left on", "\x1b[31mred", "red", "\x1b[31mred\x1b[0m"},
		{"off codes count", "\x1b[31;44mx\x1b[39;49m  \ny", "x\ny", "\x1b[31;44mx\x1b[39;49m\ny"},
		{"colour arguments are not codes", "\x1b[38;5;48mx  ", "x", "\x1b[38;5;48mx\x1b[0m"},
		{"background with colons", "\x1b[48:2::1:2:3m  \x1b[m", "", "\x1b[48:2::1:2:3m  \x1b[m"},
		{"unfinished sequence", "a\x1b[3", "a", "a"},
		{"lone escape", "a\x1b", "a", "a"},
		{"unfinished string", "a\x1b]0;t", "a", "a"},
		{"drawing spans rows", "\x0eq\nq\x0fq", "─\n─q", "─\n─q"},
		{"rows are kept", "\n\n", "\n\n", "\n\n"},
	} {
		if got := cleanCapture(test.raw, false); got != test.plain {
			t.Errorf("%s: plain = %q, want %q", test.name, got, test.plain)
		}
		if got := cleanCapture(test.raw, true); got != test.colored {
			t.Errorf("%s: colored = %q, want %q", test.name, got, test.colored)
		}
	}
}
