package engine

import (
	"testing"

	"svc"
	"svc/hub"
)

// A lease that was held when the orchestrator was killed ends with it. Its successor journals that, once.
func TestALeaseEndsWithItsOrchestratorAndIsToldOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		first := start(t, dir)
		run := first.run()
		held := hub.LeaseEvent{RunID: run.ID, Attempt: 1, Acquired: true, Holder: "ann", By: "ann", At: first.now()}
		first.no(first.journalLease(first.ctx, held))
		lease, err := first.leaseOf(first.ctx, run.ID)
		first.no(err)
		if lease == nil || *lease != (svc.Lease{Holder: "ann", AttachedAt: held.At}) {
			t.Errorf("by the journal %+v is attached", lease)
		}
		first.stop()
		for range 2 {
			next := start(t, dir)
			list, err := next.Events(next.ctx, svc.EventFilter{Topics: leaseTopics}, svc.Page{Limit: 10})
			next.no(err)
			if len(list.Items) != 2 || list.Items[0].Topic != svc.TopicRunLeaseReleased || field(list.Items[0], "holder") != "ann" {
				t.Fatalf("the journal tells %+v", list.Items)
			}
			lease, err := next.leaseOf(next.ctx, run.ID)
			next.no(err)
			if lease != nil {
				t.Errorf("by the journal %+v is attached", lease)
			}
			next.stop()
		}
	})
}
