package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// The leader that acknowledged a log and a last screen is lost. The report of the end reaches its successor, whose
// copies are incomplete.
func TestAnEndIsTakenOnlyWhereAllThatCameBeforeItIs(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "one\n", 0)
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "an earlier screen", Timestamp: 1})
		s.settle()
		host := Reporter{Host: w.host.ID}
		relayed := func(bytes int64, screen bool) func(*svc.Signal) {
			return func(sig *svc.Signal) { sig.LogBytes, sig.LastScreen = bytes, screen }
		}
		_, err := s.tell(host, r, svc.SignalFinished, relayed(8, true))
		s.wantCode("an end whose log is not here", err, svc.CodeUnavailable)
		w.log(r, "two\n", 4)
		s.settle()
		_, err = s.tell(host, r, svc.SignalFinished, relayed(8, true))
		s.wantCode("an end whose last screen is not here", err, svc.CodeUnavailable)
		s.wantStatus(r, svc.RunRunning)
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "the end", Timestamp: 2, Final: true})
		s.settle()
		s.want(svc.Applied)(s.tell(host, r, svc.SignalFinished, relayed(8, true)))
		s.pass(10 * time.Second)
		s.wantOutput(r, "one\ntwo\n")
		s.want(svc.Duplicate)(s.tell(host, r, svc.SignalFinished, relayed(8, true)))
	})
}

// A report of the end contains no lengths if its host has waited long enough, or is an old version. It is accepted.
func TestAnEndThatNamesNothingBeforeItIsTaken(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r, own := w.started(s.run()), w.started(s.run())
		s.want(svc.Applied)(s.tell(Reporter{Host: w.host.ID}, r, svc.SignalFinished))
		// A report with the run's own token is not a report of its host.
		s.want(svc.Applied)(s.tell(Reporter{Host: w.host.ID, Attempt: 1}, own, svc.SignalFinished, func(sig *svc.Signal) { sig.LogBytes = 100 }))
	})
}

// Output that a session writes after its run was stopped is not journaled. An orchestrator that takes over with an
// incomplete copy must detect that all the same.
func TestALogOfAStoppedRunIsMissedByATakeoverThatHasLessOfIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "one\n", 0)
		s.wantOutput(r, "one\n")
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		w.log(r, "two\n", 4)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(130)))
		s.pass(10 * time.Second)
		if bytes, _ := s.outputSums(r); bytes != 4 {
			t.Errorf("the journal tells of %d bytes, want those before the stop", bytes)
		}
		s.stop()
		if err := os.Truncate(filepath.Join(dir, "relay", r.ID, "1.log"), 4); err != nil {
			t.Fatal(err)
		}
		s = start(t, dir)
		r = s.get(r)
		s.wantCode("a log that is not all here", s.LogOf(s.ctx, r, 1), svc.CodeHostNotConnected)
		w.s = s
		w.connect()
		w.beat()
		w.log(r, "two\n", 4)
		s.pass(10 * time.Second)
		s.no(s.LogOf(s.ctx, s.get(r), 1))
	})
}
