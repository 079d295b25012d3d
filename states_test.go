package svc_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"svc"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

var triggers = []svc.Trigger{svc.OnAdmit, svc.OnClaim, svc.OnNack, svc.OnStarted, svc.OnExitZero, svc.OnExitNonZero, svc.OnFailed,
	svc.OnStop, svc.OnDispatchTimeout, svc.OnHostLost, svc.OnRestart}

// moves lists the status changes of a run a second time, written by hand: status, trigger, status. All others must be
// refused.
const moves = `
	 POST /runs → pending
	pending claim by the dispatcher → spawning
	pending dispatch timeout → failed
	pending stop → stopped
	spawning the host refuses the dispatch → pending
	spawning signal started → running
	spawning signal finished, exit code 0 → exited
	spawning signal finished, exit code not 0 → failed
	spawning signal failed (hook, or spawn failure) → failed
	spawning stop → stopped
	spawning host away past lost_after → failed
	spawning restart policy (attempt + 1) → pending
	running signal finished, exit code 0 → exited
	running signal finished, exit code not 0 → failed
	running signal failed (hook, or spawn failure) → failed
	running stop → stopped
	running host away past lost_after → failed
	stopped signal finished, exit code 0 → stopped
	stopped signal finished, exit code not 0 → stopped
	failed restart policy (attempt + 1) → pending
	exited restart policy (attempt + 1) → pending
`

func TestOnlyTheListedMovesOfARunAreLegal(t *testing.T) {
	t.Parallel()
	legal := map[string]string{}
	for line := range strings.Lines(strings.Trim(moves, "\n")) {
		from, to, _ := strings.Cut(strings.Trim(line, "\t\n"), " → ")
		legal[from] = to
	}
	tried, moved := 0, 0
	for _, from := range append([]svc.RunStatus{""}, svc.RunStatuses...) {
		for _, on := range triggers {
			tried++
			got, ok := svc.Next(from, on)
			want, wantOK := legal[string(from)+" "+string(on)]
			if ok != wantOK || string(got.To) != want {
				t.Errorf("%q on %q: %q (%v), want %q (%v)", from, on, got.To, ok, want, wantOK)
			}
			if ok {
				moved++
			}
		}
	}
	if tried != 77 || moved != len(legal) || len(svc.Transitions) != len(legal) {
		t.Errorf("tried %d pairs, %d moved; the table has %d moves, the list %d", tried, moved, len(svc.Transitions), len(legal))
	}
}

func TestTerminalStatusesAreFinalForTheirAttempt(t *testing.T) {
	t.Parallel()
	for _, move := range svc.Transitions {
		if move.From == "" || move.From.Active() || move.To == move.From {
			continue
		}
		if move.Trigger != svc.OnRestart || move.To != svc.RunPending {
			t.Errorf("%s leaves a terminal status on %q", move.From, move.Trigger)
		}
	}
	if _, ok := svc.Next(svc.RunStopped, svc.OnRestart); ok {
		t.Error("a stopped run would be restarted")
	}
}

func TestStatesAreDocumentedAsTheyAre(t *testing.T) {
	t.Parallel()
	const file, begin, end = "docs/states.md", "<!-- transitions -->\n", "<!-- /transitions -->\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(b), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has lost its markers", file)
	}
	want := head + begin + svc.TransitionsMarkdown() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(b) != want {
		t.Errorf("%s is not what the table says; run: go test . -run States -update", file)
	}
	for _, word := range append([]string{"duplicate", "dead_attempt", "stale_seq", "superseded", "applied"}, hostStatuses...) {
		if !strings.Contains(want, word) {
			t.Errorf("%s does not mention %s", file, word)
		}
	}
}

var hostStatuses = []string{"registered", "online", "offline", "disabled"}
