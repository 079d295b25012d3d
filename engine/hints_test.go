package engine

import (
	"testing"

	"svc"
	"svc/wire"
)

func TestAWorkersHintIsShownWhileTheRunGoesOn(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		hint := func() string {
			s.settle()
			got, err := s.Run(s.ctx, r.ID)
			s.no(err)
			return value(got.Hint)
		}
		w.send(wire.RunHint{RunID: r.ID, Attempt: 1, Hint: "output is missing from the log"})
		if got := hint(); got != "output is missing from the log" {
			t.Errorf("hint %q", got)
		}
		if got := s.get(r); got.LastProgressSeq != 0 || got.ProgressMessage != nil || got.NeedsInput {
			t.Errorf("the hint passed for a hook's signal: %+v", got)
		}
		w.send(wire.RunHint{RunID: r.ID, Attempt: 1})
		if got := hint(); got != "" {
			t.Errorf("hint %q after it was taken back", got)
		}
		w.send(wire.RunHint{RunID: r.ID, Attempt: 1, Hint: "again"})
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		if got := hint(); got != "" {
			t.Errorf("hint %q of a run that is over", got)
		}
		other := s.online("other")
		other.send(wire.RunHint{RunID: r.ID, Attempt: 1, Hint: "of a stranger"})
		if got := hint(); got != "" {
			t.Errorf("hint %q of a host that does not have the run", got)
		}
	})
}
