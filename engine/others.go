package engine

import (
	"time"

	"svc"
)

// sharedPoll is how often the journal is read when several orchestrators write it. Their hints are faster, but may be
// lost.
const sharedPoll = 200 * time.Millisecond

// OthersWrote wakes the feed: another orchestrator on the same database reports that it has committed something.
func (e *Engine) OthersWrote() { e.feed.hint.up() }

// othersWrote wakes the claimer for newly journaled events, of this process or another one: a standby orchestrator
// may have committed a change that makes a run placeable.
func (e *Engine) othersWrote(events []svc.Event) {
	for _, ev := range events {
		switch ev.Topic {
		case svc.TopicRunCreated, svc.TopicItemStatus, svc.TopicItemDeleted, svc.TopicItemNeeds, svc.TopicItemUnblocked, svc.TopicProjectUpdated:
			e.claims.up()
			return
		}
	}
}
