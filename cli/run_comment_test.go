package cli

import (
	"testing"

	"svc"
)

// TestCommentsOfOneMinuteAreToldApart makes several comments at once, so that their ids have the same beginning.
func TestCommentsOfOneMinuteAreToldApart(t *testing.T) {
	t.Parallel()
	all := []svc.Comment{{ID: svc.NewID()}, {ID: svc.NewID()}, {ID: svc.NewID()}}
	for _, want := range all {
		for _, ref := range []string{shortRecent(want.ID), want.ID} {
			if got, err := pickComment(all, ref); err != nil || got.ID != want.ID {
				t.Errorf("%s, shown as %s, is found as %s, %v", want.ID, ref, got.ID, err)
			}
		}
	}
	for _, ref := range []string{"", all[0].ID[:4], "ffffffff-"} {
		if got, err := pickComment(all, ref); err == nil {
			t.Errorf("%q is found as %s", ref, got.ID)
		}
	}
}
