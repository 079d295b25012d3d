package hub

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc"
)

// attack contains clipboard, passthrough, title, a window operation and a query, in the form in which an agent sends
// them after it has enabled passthrough.
const attack = "before\x1b]52;c;cHduZWQ=\a\x1bPtmux;\x1b\x1b]52;c;cHduZWQ=\a\x1b\\\x1b]0;pwned\a\x1b[8;1;1t\x1b[c\u009b6n\x1b[31mafter"

func TestAnAttachedTerminalGetsNothingButDrawing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		ids := s.link().opened()
		for _, b := range []byte(attack) { // every sequence is split at each byte
			s.emit(ids, string([]byte{b}))
		}
		s.emit(ids, attack)
		s.leaves("a")
		const want = "before\x1b[31mafter"
		if got, _ := p.output(); got != want+want {
			t.Errorf("the terminal gets %q, want %q twice", got, want)
		}
	})
}

func TestTheClipboardOfWhoIsAttachedDoesNotReachTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		_ = s.sends("a", input("\x1b]52;c;c2VjcmV0\a"))
		_ = s.sends("a", input("y\x1b]52;c;c2Vj"))
		_ = s.sends("a", input("cmV0\x1b\\\x1bP1$r0m\x1b\\\x1b[8;50;220t\r"))
		got := slices.DeleteFunc(s.link().take(), func(f string) bool { return !strings.HasPrefix(f, "input") })
		if want := []string{"input y", "input \r"}; !slices.Equal(got, want) {
			t.Errorf("the agent gets %q, want %q", got, want)
		}
	})
}

func TestAScreenIsTextAndColours(t *testing.T) {
	t.Parallel()
	const want = "before\x1b[31mafter"
	dir, run := t.TempDir(), svc.NewRunID()
	p := NewPanes(dir, quiet())
	p.Put(run, 1, attack, svc.TimeOf(time.Now()))
	if got := latest(t, p, run).Capture; got != want {
		t.Errorf("the screen is %q, want %q", got, want)
	}
	if err := p.PutFinal(run, 1, attack, svc.TimeOf(time.Now())); err != nil {
		t.Fatal(err)
	}
	if got := latest(t, NewPanes(dir, quiet()), run).Capture; got != want {
		t.Errorf("the last screen is %q, want %q", got, want)
	}
}
