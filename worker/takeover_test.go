package worker

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/rundir"
	"svc/wire"
)

// An acknowledgement by one orchestrator does not apply to the one that took over: the end waits until the new
// one has the log and the last screen.
func TestAnEndWaitsForTheOrchestratorOfThePresentConnection(t *testing.T) {
	t.Parallel()
	before, now := newLink(nil, wire.Capabilities), newLink(nil, wire.Capabilities)
	r := newRelay(svc.NewRunID(), 1, logOf(t, 100), 0, 0, time.Now)
	r.end, r.link, r.phase, r.acked, r.complete = 100, before, phaseOpen, 100, true
	w := &Worker{link: before}
	s := &session{w: w, relay: r, concluded: true, final: &finalScreen{Screen: rundir.Screen{Text: "the end"}, on: before, sent: true, kept: true}}
	if !s.mayReport(before, time.Hour) {
		t.Fatal("an end whose log and screen were taken waits")
	}
	screen := s.final
	for _, s.final = range []*finalScreen{nil, screen} {
		if s.mayReport(now, time.Hour) {
			t.Error("the end goes to an orchestrator that may have less")
		}
	}
	for _, l := range []*link{before, now, nil} { // an end that is being sent while the connection changes has the same headers
		if said := s.relayedBefore(l, time.Hour); said.Get(wire.HeaderLogBytes) != "100" || said.Get(wire.HeaderLastScreen) != "1" {
			t.Errorf("an end says %v of what was before it", said)
		}
	}
	r.next(now, 100)
	r.tellEnd(now)
	r.ack(now, 100, false)
	r.tellEnd(now)
	r.ack(now, 100, true)
	if s.mayReport(now, time.Hour) {
		t.Error("the end goes out before the last screen came on this connection")
	}
	s.screenKept(before) // a late answer of the previous orchestrator
	s.final.on, s.final.kept = now, false
	s.screenKept(before)
	if s.mayReport(now, time.Hour) {
		t.Error("an answer on an earlier connection counts")
	}
	s.screenKept(now)
	if !s.mayReport(now, time.Hour) {
		t.Error("the end waits for ever")
	}
}

// If an orchestrator repeatedly confirms that it has everything but does not accept the end, the end is sent
// without conditions after a while.
func TestAnEndThatIsRefusedForLongSaysNothingOfWhatWasBeforeIt(t *testing.T) {
	t.Parallel()
	path := logOf(t, 100)
	synctest.Test(t, func(t *testing.T) {
		l := newLink(nil, wire.Capabilities)
		r := newRelay(svc.NewRunID(), 1, path, 0, 0, time.Now)
		s := &session{w: &Worker{link: l}, relay: r, concluded: true}
		confirm := func() { r.end, r.link, r.phase, r.acked, r.complete = 100, l, phaseOpen, 100, true }
		confirm()
		s.relayAgain(l)
		if r.caughtOn(l) {
			t.Error("what was acknowledged counts after the end was refused")
		}
		clocktest.Pass(9 * time.Second)
		confirm()
		s.relayAgain(l)
		confirm()
		if s.relayedBefore(l, 10*time.Second) == nil {
			t.Error("the condition was dropped after 9 s")
		}
		clocktest.Pass(2 * time.Second)
		if said := s.relayedBefore(l, 10*time.Second); said != nil {
			t.Errorf("the end says %v for ever", said)
		}
		if s.relayedBefore(newLink(nil, wire.Capabilities), 10*time.Second) == nil {
			t.Error("the condition was dropped for another orchestrator")
		}
	})
}

// The report of an end is answered by an orchestrator that took over and has less, while the connection is
// still that to the previous one.
func TestAnEndThatWasRefusedComesAgainAfterWhatWasBeforeIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = time.Hour
	const words = "the last words"
	var refusedEnds int
	var logAtEnd string
	l.o.set(func(o *orchestrator) {
		o.answer = func(s svc.Signal) int {
			if s.Kind != svc.SignalFinished {
				return http.StatusOK
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			k := key{s.RunID, s.Attempt}
			logAtEnd = string(o.logs[k])
			if refusedEnds++; refusedEnds > 1 {
				return http.StatusOK
			}
			o.logs[k] = o.logs[k][:1]
			delete(o.ends, k)
			return http.StatusServiceUnavailable
		}
	})
	l.start()
	run := l.begin(`echo first; read line; echo ` + words + `; exit 3`)
	l.pressEnter(run)
	if end := l.finished(run, 1); end.ExitCode != 3 {
		t.Errorf("finished = %+v, want exit code 3", end)
	}
	l.cleared(run, 1)
	l.o.set(func(o *orchestrator) {
		if !strings.Contains(logAtEnd, words) || refusedEnds != 2 {
			t.Errorf("the end was reported %d times, at last with the log %q", refusedEnds, logAtEnd)
		}
		for _, said := range o.relayed[key{run, 1}] {
			if said.Get(wire.HeaderLogBytes) == "" || said.Get(wire.HeaderLastScreen) != "1" {
				t.Errorf("an end says %v of what was before it", said)
			}
		}
	})
	if n := len(l.o.finals(run, 1)); n != 2 {
		t.Errorf("%d last screens came, want one before each report", n)
	}
}
