package worker

import (
	"testing"

	"svc"
)

// A run that is restarted at once begins before the scope of its last session is gone.
func TestEachSessionOfARunHasAScopeOfItsOwn(t *testing.T) {
	t.Parallel()
	run := svc.NewRunID()
	if first, second := unitName(run), unitName(run); first == second {
		t.Errorf("two sessions have the scope %s", first)
	}
}

func TestAUsersScopesAreBelowTheUsersManager(t *testing.T) {
	t.Parallel()
	for cgroups, want := range map[string]bool{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/svc-worker.service\n": true,
		"0::/user.slice/user-1000.slice/session-3.scope\n":                                false,
		"0::/user.slice/user-1001.slice/user@1001.service/app.slice/x.service\n":          false,
		"0::/system.slice/svc-worker.service\n":                                           false,
		"":                                                                                false,
	} {
		if got := belowManager(cgroups, "1000"); got != want {
			t.Errorf("%q: %v, want %v", cgroups, got, want)
		}
	}
}
