package svc

import (
	"slices"
	"time"
)

// SinkKind is what a sink understands.
type SinkKind string

// The kinds of sinks.
const (
	SinkWebhook SinkKind = "webhook" // a JSON object of our own, signed
	SinkNtfy    SinkKind = "ntfy"
	SinkSlack   SinkKind = "slack"
)

// Sink is where notifications of inbox entries go. Its address and its secret are never shown.
type Sink struct {
	Name     string
	Kind     SinkKind
	URL      string
	Secret   string        // empty: none
	On       []InboxKind   // empty: all
	Dwell    time.Duration // an entry that is gone by then is not sent; needs_input goes at once
	Projects []string      // slugs; empty: all
}

// DefaultDwell is the dwell of a sink that does not say.
const DefaultDwell = 15 * time.Second

// Wants says whether an entry goes to the sink. Entries of hosts are of no project and go to every sink.
func (s Sink) Wants(i InboxItem) bool {
	return (len(s.On) == 0 || slices.Contains(s.On, i.Kind)) &&
		(len(s.Projects) == 0 || i.ProjectSlug == "" || slices.Contains(s.Projects, i.ProjectSlug))
}

// DwellOf is how long an entry waits before it is sent.
func (s Sink) DwellOf(i InboxItem) time.Duration {
	if i.Kind == InboxNeedsInput {
		return 0
	}
	return s.Dwell
}

// SinkState is how a sink fares.
type SinkState struct {
	Name     string      `json:"name" doc:"As in the config file"`
	Kind     SinkKind    `json:"kind" enum:"webhook,ntfy,slack"`
	On       []InboxKind `json:"on" nullable:"false" doc:"Kinds of entries that go to it"`
	Projects []string    `json:"projects" nullable:"false" doc:"Slugs; empty: all"`
	Waiting  int         `json:"waiting" doc:"Notifications that are to be sent"`
	Failures int         `json:"failures" doc:"Tries that failed in a row; 0: the last one did not"`
	RetryAt  *Time       `json:"retry_at" doc:"When the next try is; null: at once"`
	SentAt   *Time       `json:"sent_at" doc:"When it last took one; null: never"`
	FailedAt *Time       `json:"failed_at" doc:"When it last did not; null: never"`
	Error    string      `json:"error" doc:"Why it last did not; empty: it has taken one since"`

	OldestAt    *Time  `json:"-"` // when the oldest of those that wait came into the outbox; nil: none waits
	FailedTries int64  `json:"-"` // of this process, since it began
	Since       Time   `json:"-"` // entries from before are not sent
	Owner       string `json:"-"` // the orchestrator that sends to it now
	LeasedUntil Time   `json:"-"`
}

// NotificationState is where a notification stands.
type NotificationState string

// The states of a notification. All but the first are final.
const (
	NotificationWaiting   NotificationState = "waiting"
	NotificationDigested  NotificationState = "digested"  // a digest tells of it
	NotificationSent      NotificationState = "sent"      // the sink has taken it
	NotificationCancelled NotificationState = "cancelled" // its entry closed before a try succeeded
	NotificationRefused   NotificationState = "refused"   // the sink said that it never will
	NotificationExpired   NotificationState = "expired"   // the sink did not take it for a day
)

// Notification is one line of the outbox: an entry of the inbox that is told to one sink, or a digest of several.
type Notification struct {
	ID        string
	Sink      string
	Key       string // of the entry; of a digest, its own id
	DigestID  string // that tells of it; empty: none
	State     NotificationState
	Tries     int // that were begun
	DueAt     Time
	SettledAt *Time // when it became final; nil: it is not
	Error     string
	CreatedAt Time
}

// Digest says whether it tells of several entries.
func (n Notification) Digest() bool { return n.Key == n.ID }
