package engine

import (
	"time"

	"svc"
)

// sharedPoll is how often the journal is looked at where several orchestrators write it. Their hints are faster, and may be lost.
const sharedPoll = 200 * time.Millisecond

// OthersWrote is the hint of another orchestrator on the same database that it has committed something.
func (e *Engine) OthersWrote() { e.feed.hint.up() }

// othersWrote takes what was journaled, by this process or another: what an orchestrator that does not lead has written may let a run be placed.
func (e *Engine) othersWrote(events []svc.Event) {
	for _, ev := range events {
		switch ev.Topic {
		case svc.TopicRunCreated, svc.TopicItemStatus, svc.TopicItemDeleted, svc.TopicItemNeeds, svc.TopicItemUnblocked, svc.TopicProjectUpdated:
			e.claims.up()
			return
		}
	}
}
