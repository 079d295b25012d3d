package engine

import (
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

func TestAPromptThatNoHostCanHandOverIsRefusedAtAdmission(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.online("a"), s.online("b")
		report := func(w *worker, limit int) {
			w.send(wire.Providers{Providers: map[string]svc.ProviderReport{"tool": {Available: true, PromptLimit: limit}}})
			s.settle()
		}
		task := s.task(s.project()).ID
		code := func(what string, n svc.NewRun, want svc.Code) {
			t.Helper()
			n.TaskID, n.Provider = task, "tool"
			_, err := s.CreateRun(s.ctx, n)
			s.wantCode(what, err, want)
		}
		long, short := strings.Repeat("x", svc.MaxArgument+1), strings.Repeat("x", svc.MaxArgument)
		report(a, svc.MaxArgument)
		code("one host, an argument", svc.NewRun{Prompt: short}, "")
		code("one host, a byte more", svc.NewRun{Prompt: long}, svc.CodePromptTooLong)
		report(b, 0)
		code("another host takes it", svc.NewRun{Prompt: long}, "")
		code("pinned to that one", svc.NewRun{Prompt: long, HostID: &b.host.ID}, "")
		code("pinned to the first", svc.NewRun{Prompt: long, HostID: &a.host.ID}, svc.CodePromptTooLong)
	})
}
