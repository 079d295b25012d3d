package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestASlowWorkspaceHoldsUpNoOther takes the slots for workspaces that an agent has made endlessly large.
func TestASlowWorkspaceHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &workspaceKeeper{slots: make(chan struct{}, keeperSlots)}
		began := time.Now()
		var release []func()
		for range 2*keeperSlots + 1 {
			free, err := k.slot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, free)
		}
		if took := time.Since(began); took != 2*slotTime {
			t.Errorf("the fifth of workspaces that never end waited %s", took)
		}
		for _, free := range release { // late or in time, each call releases only its own slot
			free()
		}
		if n := len(k.slots); n != 0 {
			t.Errorf("%d slots are held by nobody", n)
		}
	})
}
