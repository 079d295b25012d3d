package svc_test

import (
	"testing"

	"svc"
)

func TestDefaultsFillWhatTheCallerLeftOpen(t *testing.T) {
	t.Parallel()
	claude := svc.RunDefaults{Provider: "claude", Model: "opus", Cwd: "/srv/shop"}
	for name, c := range map[string]struct {
		defaults svc.RunDefaults
		asked    svc.NewRun
		want     svc.NewRun
	}{
		"nothing said":               {claude, svc.NewRun{}, svc.NewRun{Provider: "claude", Model: "opus", Cwd: "/srv/shop"}},
		"the caller wins":            {claude, svc.NewRun{Model: "haiku", Cwd: "/tmp"}, svc.NewRun{Provider: "claude", Model: "haiku", Cwd: "/tmp"}},
		"another tool, no model":     {claude, svc.NewRun{Provider: "codex"}, svc.NewRun{Provider: "codex", Cwd: "/srv/shop"}},
		"the tool's other mode":      {claude, svc.NewRun{Provider: "claude-tui"}, svc.NewRun{Provider: "claude-tui", Model: "opus", Cwd: "/srv/shop"}},
		"a model for whatever tool":  {svc.RunDefaults{Model: "m"}, svc.NewRun{Provider: "codex"}, svc.NewRun{Provider: "codex", Model: "m"}},
		"no defaults change nothing": {svc.RunDefaults{}, svc.NewRun{Provider: "codex"}, svc.NewRun{Provider: "codex"}},
	} {
		got := c.asked
		c.defaults.Fill(&got)
		if got.Provider != c.want.Provider || got.Model != c.want.Model || got.Cwd != c.want.Cwd {
			t.Errorf("%s: got %s %s %s, want %s %s %s", name, got.Provider, got.Model, got.Cwd, c.want.Provider, c.want.Model, c.want.Cwd)
		}
	}
}
