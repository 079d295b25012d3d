package engine

import (
	"context"
	"strings"
	"testing"

	"svc"
	"svc/store"
	"svc/wire"
)

// frameOf returns the size of a frame on the wire, in bytes.
func frameOf(t *testing.T, f wire.Frame) int {
	t.Helper()
	b, err := wire.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

func TestAPromptOfAnglesIsSentAsItIs(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		prompt := strings.Repeat("<", 900<<10)
		r := s.run(func(n *svc.NewRun) { n.Prompt = prompt })
		f, _ := w.wantFrames("run_dispatch 1")[0].(*wire.RunDispatch)
		if f == nil || f.RunID != r.ID || f.Prompt != prompt {
			t.Fatal("it did not arrive as it was given")
		}
		if n := frameOf(t, f); n > len(prompt)+1000 {
			t.Errorf("a prompt of %d bytes became a frame of %d", len(prompt), n)
		}
	})
}

func TestARunThatNoFrameCanHoldIsRefusedAtAdmission(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		task := s.task(s.project()).ID
		escaped := strings.Repeat("\x01", 1000) // 6,000 bytes on the wire
		for field, n := range map[string]svc.NewRun{
			"args":   {Args: []string{strings.Repeat("a", wire.MaxFrame)}},
			"env":    {Env: map[string]string{"A": strings.Repeat("a", wire.MaxFrame)}},
			"prompt": {Prompt: strings.Repeat(escaped, 900), Args: []string{strings.Repeat("a", 500)}},
		} {
			n.TaskID, n.Provider = task, "provider_a"
			_, err := s.CreateRun(s.ctx, n)
			s.wantCode(field, err, svc.CodeValidation)
			if err != nil && (!strings.HasPrefix(err.Error(), field+": ") || !strings.Contains(err.Error(), "4128768")) {
				t.Errorf("%s: %v does not name the field and the limit", field, err)
			}
		}
		w.wantFrames()
	})
}

// What the server adds to a dispatch never exceeds the space that admission reserves for it, so the largest admitted
// run can be sent.
func TestTheLargestRunThatIsAdmittedCanBeSent(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		p, err := s.CreateProject(s.ctx, svc.NewProject{Name: strings.Repeat("n", 200), Cwd: strings.Repeat("\u2028", 4096)})
		s.no(err)
		n := svc.NewRun{TaskID: s.task(p).ID, Provider: strings.Repeat("p", 100), Model: strings.Repeat("m", 200)}
		s.KnownProvider = func(string) bool { return true }
		n.Args = []string{""}
		n.Args[0] = strings.Repeat("a", maxDispatch-frameOf(t, ownFields(n)))
		r, err := s.CreateRun(s.ctx, n)
		s.no(err)
		frames := w.wantFrames("run_dispatch 1")
		if size := frameOf(t, frames[0]); size <= maxDispatch || size > wire.MaxFrame {
			t.Errorf("the frame of %s has %d bytes", r.ID, size)
		}
		n.Args[0] += "a"
		_, err = s.CreateRun(s.ctx, n)
		s.wantCode("a byte more", err, svc.CodeValidation)
	})
}

// A run that was admitted before the limit existed can be in the database. It fails, and its host continues with the
// others.
func TestAnOldRunThatNoFrameCanHoldFails(t *testing.T) {
	bubble(t, func(s *site) {
		small := s.run()
		var big svc.Run
		s.no(s.Store.Write(s.ctx, func(tx *store.Tx) error {
			big = small
			big.ID = svc.NewRunID()
			big.SessionName, big.Args = svc.SessionName(big.ID), []string{strings.Repeat("\x01", 900<<10)}
			return tx.InsertRun(context.Background(), big)
		}))
		w := s.online("h")
		frames := w.wantFrames("run_dispatch 1")
		if f, _ := frames[0].(*wire.RunDispatch); f.RunID != small.ID {
			t.Errorf("%s was sent", f.RunID)
		}
		got := s.wantStatus(big, svc.RunFailed)
		if got.Error == nil || !strings.Contains(*got.Error, "args") || !strings.Contains(*got.Error, "bytes") {
			t.Errorf("it failed with %v", got.Error)
		}
		if got.SessionEndedAt == nil {
			t.Error("its session may still be alive")
		}
	})
}
