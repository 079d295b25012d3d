package live

import (
	"regexp"
	"strings"
	"testing"

	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// sequence matches an escape sequence.
var sequence = regexp.MustCompile("\x1b(\\[[0-9;:?]*[@-~]|.)")

// sgr matches a sequence that sets colours or attributes.
var sgr = regexp.MustCompile("^\x1b\\[[0-9;:]*m$")

// plain returns a screen without its escape sequences.
func plain(screen string) string { return sequence.ReplaceAllString(screen, "") }

func TestScreensAreShownByTheKindOfProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	for name, coloured := range map[string]bool{"sh": false, "full": true, "raw": true} {
		gate := s.lab.Path("gate", name)
		id := s.run(program("screen", gate), withProvider(name))
		watcher := s.watch(id)
		awaitScreen(t, s.client, id, drawnRows(false))
		s.open(gate)
		s.awaitEnd(id)
		last := s.screen(id)
		if got := plain(last.Capture); got != drawnRows(true) {
			t.Errorf("%s: the last screen is\n%s", name, got)
		}
		found := sequence.FindAllString(last.Capture, -1)
		if coloured != (len(found) > 0) {
			t.Errorf("%s: the screen has %d sequences", name, len(found))
		}
		for _, f := range found {
			if !sgr.MatchString(f) {
				t.Errorf("%s: the screen has the sequence %q", name, f)
			}
		}
		if coloured && !strings.Contains(last.Capture, "\x1b[32mit is over") {
			t.Errorf("%s: the colours are not those of the program: %.100q", name, last.Capture)
		}
		watcher.await(mark{}, "the watcher sees the last screen", func(f frame) bool { return f.Seq == last.Seq && f.Capture == last.Capture })
	}
}

func TestTheLastScreenStaysThroughRestartsOfBoth(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	gate := s.lab.Path("gate")
	before := s.run(program("screen", gate), withProvider("full"))
	during := s.run(program("screen", gate), withProvider("full"))
	awaitScreen(t, s.client, before, drawnRows(false))
	awaitScreen(t, s.client, during, drawnRows(false))
	s.restartBoth()
	watcher := s.watch(before)
	watcher.await(mark{}, "the watcher sees the screen of before the restart", func(f frame) bool { return plain(f.Capture) == drawnRows(false) })
	s.o.Kill() // the programs end while worker and orchestrator are down
	s.w.Kill()
	s.open(gate)
	s.lab.WantProcesses(0, `/live\.test `) // this binary, as a program
	s.o.Start()
	s.w.Launch()
	for _, id := range []string{before, during} {
		s.awaitEnd(id)
		s.restartBoth() // immediately: a screen that is not stored yet must be sent again
		awaitScreen(t, s.client, id, drawnRows(true))
	}
}

func awaitScreen(t *testing.T, client *api.Client, runID, rows string) {
	t.Helper()
	waittest.Eventually(t, "the screen is drawn", func() bool {
		pane, err := client.Pane(t.Context(), runID)
		return err == nil && plain(pane.Capture) == rows
	})
}
