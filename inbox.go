package svc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// InboxKind is the reason why an inbox entry needs a person.
type InboxKind string

// The kinds of entries.
const (
	InboxNeedsInput  InboxKind = "needs_input" // an agent waits for an answer
	InboxFailed      InboxKind = "failed"      // a run failed, and no restart follows
	InboxReview      InboxKind = "review"      // a run is over, and its change was neither landed nor discarded
	InboxUnconfirmed InboxKind = "unconfirmed" // it is not known whether a message reached its agent
	InboxLandFailed  InboxKind = "land_failed" // the newest landing of a working copy failed
	InboxHost        InboxKind = "host"        // a host is offline or suspect while it has open runs, or its disk is full
)

// InboxKinds lists every kind.
var InboxKinds = []InboxKind{InboxNeedsInput, InboxFailed, InboxReview, InboxUnconfirmed, InboxLandFailed, InboxHost}

// InboxItem is an entry of the inbox. It is computed from the records, and disappears with its cause.
type InboxItem struct {
	Key          string    `json:"key" doc:"Opaque; the same while the cause lasts, a new one when it occurs again"`
	Kind         InboxKind `json:"kind" enum:"needs_input,failed,review,unconfirmed,land_failed,host"`
	Title        string    `json:"title" doc:"The work item's title, or the host's name"`
	Text         string    `json:"text" doc:"The cause in one line"`
	Since        Time      `json:"since"`
	RunID        *string   `json:"run_id"`
	TaskID       *string   `json:"task_id"`
	ProjectID    *string   `json:"project_id"`
	HostID       *string   `json:"host_id"`
	WorkspaceID  *string   `json:"workspace_id"`
	SnoozedUntil *Time     `json:"snoozed_until" doc:"Null: it is not snoozed"`

	ProjectSlug string `json:"-"` // empty: it belongs to no project
	Dismissed   bool   `json:"-"`
}

// EventPayload returns the fields that every inbox.* event carries.
func (i InboxItem) EventPayload() map[string]any {
	p := map[string]any{"key": i.Key, "kind": i.Kind}
	for name, id := range map[string]*string{"run_id": i.RunID, "task_id": i.TaskID, "project_id": i.ProjectID, "host_id": i.HostID, "workspace_id": i.WorkspaceID} {
		if id != nil {
			p[name] = *id
		}
	}
	return p
}

// Notice returns the text that may be sent to other services. It never contains what a person wrote to an agent.
func (i InboxItem) Notice() string {
	if i.Kind == InboxUnconfirmed {
		return unconfirmedText
	}
	return i.Text
}

// SetAside reports whether the entry was dismissed, or is snoozed until a time after now.
func (i InboxItem) SetAside(now Time) bool {
	return i.Dismissed || i.SnoozedUntil != nil && *i.SnoozedUntil > now
}

// InboxFilter narrows the inbox. Dismissed entries are never in it.
type InboxFilter struct {
	Snoozed bool // include snoozed entries
	After   Time // only entries that began after this time; 0: all
}

// InboxCause holds the facts from which an entry is computed. Which of them are set depends on its kind.
type InboxCause struct {
	InboxItem        // without title and text
	Subject   string // the work item's title, or the host's name
	Reason    string // failed: the failure reason; unconfirmed, land_failed: the reason; host: what is wrong with it
	Message   string // needs_input: the question; failed, land_failed: the error; unconfirmed: the text
	ExitCode  *int
	Files     int
	Additions int
	Deletions int
	OpenRuns  int
}

// The troubles of a host, as InboxCause.Reason.
const (
	HostTroubleOffline = "offline"
	HostTroubleSuspect = "suspect"
	HostTroubleDisk    = "disk_low"
)

// Item returns the entry with its title and text.
func (c InboxCause) Item() InboxItem {
	item := c.InboxItem
	item.Title, item.Text = inboxLine(c.Subject), inboxLine(c.text())
	return item
}

const unconfirmedText = "a message may not have arrived"

func (c InboxCause) text() string {
	switch c.Kind {
	case InboxNeedsInput:
		return join("needs input", c.Message)
	case InboxFailed:
		return join("failed", c.failure())
	case InboxReview:
		if c.Files == 0 {
			return "to review: a change that is on its host only"
		}
		return fmt.Sprintf("to review: +%d -%d in %s", c.Additions, c.Deletions, counted(c.Files, "file"))
	case InboxUnconfirmed:
		return join(unconfirmedText, c.Message)
	case InboxLandFailed:
		return join("landing failed", c.failure())
	default:
		return c.hostTrouble()
	}
}

func (c InboxCause) failure() string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Reason != "":
		return strings.ReplaceAll(c.Reason, "_", " ")
	case c.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *c.ExitCode)
	default:
		return ""
	}
}

func (c InboxCause) hostTrouble() string {
	switch c.Reason {
	case HostTroubleOffline:
		return "offline, with " + counted(c.OpenRuns, "open run")
	case HostTroubleSuspect:
		return "a second worker reports as this host, with " + counted(c.OpenRuns, "open run")
	default:
		return "has too little disk space free, and takes no new runs"
	}
}

func join(words, more string) string {
	if strings.TrimSpace(more) == "" {
		return words
	}
	return words + ": " + more
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxInboxLine limits titles and texts, in characters: agents may report long texts.
const maxInboxLine = 300

// inboxLine joins the lines of s into one and shortens it to maxInboxLine.
func inboxLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(s); len(runes) > maxInboxLine {
		return string(runes[:maxInboxLine-1]) + "…"
	}
	return s
}

// InboxBefore reports whether a is listed before b: newest first.
func InboxBefore(a, b InboxItem) bool {
	if a.Since != b.Since {
		return a.Since > b.Since
	}
	return a.Key > b.Key
}

// ParseInboxKey returns the kind in a key and the id of the record that the entry is about.
func ParseInboxKey(key string) (kind InboxKind, subject string, ok bool) {
	parts := strings.SplitN(key, ".", 3)
	if len(parts) != 3 {
		return "", "", false
	}
	kind = InboxKind(parts[0])
	return kind, parts[1], slices.Contains(InboxKinds, kind) && IsID(parts[1])
}

// maxSnooze limits how far in the future an entry may be snoozed.
const maxSnooze = 366 * 24 // hours

// CheckSnooze returns an error for a time that is in the past or too far in the future.
func CheckSnooze(until, now Time) error {
	if until <= now || until > now+maxSnooze*3_600_000 {
		return Invalid("until", "must be in the future, and within a year")
	}
	return nil
}
