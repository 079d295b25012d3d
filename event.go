package svc

import (
	"encoding/json"
	"strings"
)

// Topic identifies the kind of an event.
type Topic string

// The topics of the journal.
const (
	TopicProjectCreated  Topic = "project.created"
	TopicProjectUpdated  Topic = "project.updated"
	TopicProjectArchived Topic = "project.archived"

	TopicItemCreated    Topic = "work_item.created"
	TopicItemUpdated    Topic = "work_item.updated"
	TopicItemStatus     Topic = "work_item.status_changed"
	TopicItemReparented Topic = "work_item.reparented"
	TopicItemDeleted    Topic = "work_item.deleted"
	TopicItemNeeds      Topic = "work_item.needs_changed"
	TopicItemUnblocked  Topic = "work_item.unblocked" // its last unmet need was met

	TopicRunCreated       Topic = "run.created"
	TopicRunUpdated       Topic = "run.updated" // the conditions under which it waits were changed
	TopicRunSpawning      Topic = "run.spawning"
	TopicRunStarted       Topic = "run.started"
	TopicRunFinished      Topic = "run.finished"
	TopicRunFailed        Topic = "run.failed"
	TopicRunStopped       Topic = "run.stopped"
	TopicRunRequeued      Topic = "run.requeued"
	TopicRunSignal        Topic = "run.signal_received"
	TopicRunOutput        Topic = "run.output_appended"
	TopicRunLeaseAcquired Topic = "run.lease_acquired"
	TopicRunLeaseReleased Topic = "run.lease_released"
	TopicRunOrphan        Topic = "run.orphan_detected"
	TopicRunMessage       Topic = "run.message"       // a message to its agent was sent, or changed its state
	TopicRunSessionEnded  Topic = "run.session_ended" // the session of a run that was over: its host confirmed the end, or the host was deleted

	TopicWorkerRegistered  Topic = "worker.registered"
	TopicWorkerOffline     Topic = "worker.offline"
	TopicWorkerSuspect     Topic = "worker.instance_suspect"
	TopicWorkerReinstalled Topic = "worker.instance_reinstalled"
	TopicWorkerProviders   Topic = "worker.providers_changed"
	TopicWorkerCatalog     Topic = "worker.catalog_changed" // its provider catalog was changed, and may start other commands than before
	TopicWorkerConnected   Topic = "worker.connected"       // connected again, after a disconnect that was journaled
	TopicWorkerGone        Topic = "worker.disconnected"    // its connection ended; the host's status follows from heartbeats alone

	TopicHostCreated Topic = "host.created"
	TopicHostUpdated Topic = "host.updated"
	TopicHostDeleted Topic = "host.deleted"
	TopicHostRotated Topic = "host.token_rotated"

	TopicWorkspaceCreated      Topic = "workspace.created"
	TopicWorkspaceReady        Topic = "workspace.ready"
	TopicWorkspaceFailed       Topic = "workspace.failed"
	TopicWorkspaceCheckpointed Topic = "workspace.checkpointed"
	TopicWorkspaceMissing      Topic = "workspace.missing"
	TopicWorkspaceDiscarded    Topic = "workspace.discarded"
	TopicWorkspaceKept         Topic = "workspace.kept" // a discard was undone
	TopicWorkspaceRemoved      Topic = "workspace.removed"
	TopicWorkspaceLandAsked    Topic = "workspace.land_requested" // the host has not yet reported the outcome
	TopicWorkspaceLanded       Topic = "workspace.landed"
	TopicWorkspaceLandFailed   Topic = "workspace.land_failed"

	TopicInboxSnoozed   Topic = "inbox.snoozed"
	TopicInboxDismissed Topic = "inbox.dismissed"
	TopicCommentCreated Topic = "comment.created"
	TopicCommentUpdated Topic = "comment.updated" // its text or its state changed
	TopicCommentDeleted Topic = "comment.deleted"

	TopicTokenCreated Topic = "token.created"
	TopicTokenRevoked Topic = "token.revoked"

	TopicReplicaDraining Topic = "replica.draining" // an orchestrator was asked to hand over and exit
)

// Topics lists every topic.
var Topics = []Topic{
	TopicProjectCreated, TopicProjectUpdated, TopicProjectArchived,
	TopicItemCreated, TopicItemUpdated, TopicItemStatus, TopicItemReparented, TopicItemDeleted, TopicItemNeeds, TopicItemUnblocked,
	TopicRunCreated, TopicRunUpdated, TopicRunSpawning, TopicRunStarted, TopicRunFinished, TopicRunFailed, TopicRunStopped,
	TopicRunRequeued, TopicRunSignal, TopicRunOutput, TopicRunLeaseAcquired, TopicRunLeaseReleased, TopicRunOrphan, TopicRunMessage, TopicRunSessionEnded,
	TopicWorkerRegistered, TopicWorkerOffline, TopicWorkerSuspect, TopicWorkerReinstalled, TopicWorkerProviders, TopicWorkerCatalog, TopicWorkerConnected, TopicWorkerGone,
	TopicHostCreated, TopicHostUpdated, TopicHostDeleted, TopicHostRotated,
	TopicWorkspaceCreated, TopicWorkspaceReady, TopicWorkspaceFailed, TopicWorkspaceCheckpointed, TopicWorkspaceMissing, TopicWorkspaceDiscarded,
	TopicWorkspaceKept, TopicWorkspaceRemoved, TopicWorkspaceLandAsked, TopicWorkspaceLanded, TopicWorkspaceLandFailed,
	TopicInboxSnoozed, TopicInboxDismissed,
	TopicCommentCreated, TopicCommentUpdated, TopicCommentDeleted,
	TopicTokenCreated, TopicTokenRevoked,
	TopicReplicaDraining,
}

// Event is one entry of the journal.
type Event struct {
	Seq       int64           `json:"seq" doc:"Grows by one with every event, in commit order"`
	Topic     Topic           `json:"topic"`
	Payload   json.RawMessage `json:"payload"`
	CreatedAt Time            `json:"created_at"`
}

// Draft is an event without a sequence number. The number is assigned when its transaction commits.
type Draft struct {
	Topic   Topic
	Payload map[string]any
}

// Globs is a topic filter. An event matches when any of the globs matches its topic; an empty filter matches every
// event.
type Globs []string

const maxGlob = 100

// ParseGlobs validates a filter. Each element is a topic in which * stands for any characters.
func ParseGlobs(globs []string) (Globs, error) {
	if len(globs) > 50 {
		return nil, Invalid("topic", "is given %d times; at most 50 are allowed", len(globs))
	}
	for _, g := range globs {
		if g == "" || len(g) > maxGlob {
			return nil, Invalid("topic", "must have 1 to %d characters", maxGlob)
		}
		for _, c := range g {
			if (c < 'a' || c > 'z') && c != '.' && c != '_' && c != '*' {
				return nil, Invalid("topic", "%q is not a topic or a glob such as run.*", g)
			}
		}
	}
	return globs, nil
}

// Match reports whether the topic matches the filter.
func (g Globs) Match(t Topic) bool {
	if len(g) == 0 {
		return true
	}
	for _, glob := range g {
		if matchGlob(glob, string(t)) {
			return true
		}
	}
	return false
}

// Expand returns the known topics that match, nil when the filter is empty.
func (g Globs) Expand() []Topic {
	if len(g) == 0 {
		return nil
	}
	out := []Topic{}
	for _, t := range Topics {
		if g.Match(t) {
			out = append(out, t)
		}
	}
	return out
}

// matchGlob splits the glob at the stars. The first piece must be a prefix, the last a suffix, and the others must
// follow in order between them; each is searched from the left.
func matchGlob(glob, s string) bool {
	pieces := strings.Split(glob, "*")
	if len(pieces) == 1 {
		return glob == s
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range pieces[1 : len(pieces)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}
