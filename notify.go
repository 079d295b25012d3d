package svc

import (
	"slices"
	"time"
)

// SinkKind is the protocol of a sink.
type SinkKind string

// The kinds of sinks.
const (
	SinkWebhook SinkKind = "webhook" // a JSON object in svc's own format, signed
	SinkNtfy    SinkKind = "ntfy"
	SinkSlack   SinkKind = "slack"
)

// Sink is a destination of notifications about inbox entries. Its URL and its secret are never shown.
type Sink struct {
	Name     string
	Kind     SinkKind
	URL      string
	Secret   string        // empty: none
	On       []InboxKind   // empty: all
	Dwell    time.Duration // an entry whose cause ends within this time is not sent; needs_input is sent at once
	Projects []string      // slugs; empty: all
}

// DefaultDwell is the dwell of a sink for which none is configured.
const DefaultDwell = 15 * time.Second

// Wants reports whether an entry is sent to the sink. Entries about hosts belong to no project, so the filter by
// project does not apply to them.
func (s Sink) Wants(i InboxItem) bool {
	return (len(s.On) == 0 || slices.Contains(s.On, i.Kind)) &&
		(len(s.Projects) == 0 || i.ProjectSlug == "" || slices.Contains(s.Projects, i.ProjectSlug))
}

// DwellOf returns how long an entry waits before it is sent.
func (s Sink) DwellOf(i InboxItem) time.Duration {
	if i.Kind == InboxNeedsInput {
		return 0
	}
	return s.Dwell
}

// SinkState is the delivery state of a sink.
type SinkState struct {
	Name     string      `json:"name" doc:"As in the config file"`
	Kind     SinkKind    `json:"kind" enum:"webhook,ntfy,slack"`
	On       []InboxKind `json:"on" nullable:"false" doc:"Kinds of entries that are sent to it"`
	Projects []string    `json:"projects" nullable:"false" doc:"Slugs; empty: all"`
	Waiting  int         `json:"waiting" doc:"Notifications that are waiting to be sent"`
	Failures int         `json:"failures" doc:"Consecutive failed tries; 0: the last one succeeded"`
	RetryAt  *Time       `json:"retry_at" doc:"When the next try is; null: at once"`
	SentAt   *Time       `json:"sent_at" doc:"When it last accepted a notification; null: never"`
	FailedAt *Time       `json:"failed_at" doc:"When it last failed; null: never"`
	Error    string      `json:"error" doc:"Why it last failed; empty: it has succeeded since"`

	OldestAt    *Time  `json:"-"` // when the oldest waiting notification entered the outbox; nil: none waits
	FailedTries int64  `json:"-"` // by this process, since it started
	Since       Time   `json:"-"` // entries that began before this time are not sent
	Owner       string `json:"-"` // the orchestrator that sends to the sink now
	LeasedUntil Time   `json:"-"`
}

// NotificationState is the state of a notification.
type NotificationState string

// The states of a notification. All but the first are final.
const (
	NotificationWaiting   NotificationState = "waiting"
	NotificationDigested  NotificationState = "digested"  // a digest contains it
	NotificationSent      NotificationState = "sent"      // the sink has accepted it
	NotificationCancelled NotificationState = "cancelled" // its entry closed before a delivery succeeded
	NotificationRefused   NotificationState = "refused"   // the sink refused it permanently
	NotificationExpired   NotificationState = "expired"   // the sink did not accept it for a day
)

// Notification is one row of the outbox: an inbox entry to be sent to one sink, or a digest of several entries.
type Notification struct {
	ID        string
	Sink      string
	Key       string // of the entry; a digest has its own id here
	DigestID  string // the digest that contains it; empty: none
	State     NotificationState
	Tries     int // number of tries that were begun
	DueAt     Time
	SettledAt *Time // when its state became final; nil: it is not final
	Error     string
	CreatedAt Time
}

// Digest reports whether the notification is a digest of several entries.
func (n Notification) Digest() bool { return n.Key == n.ID }
