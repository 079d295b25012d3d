package svc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// MessageState is the state of a message to a live session.
type MessageState string

// The states. The last three are final, with one exception: an unconfirmed message becomes acknowledged when its
// arrival is reported late.
const (
	MessageQueued       MessageState = "queued"       // it waits for its turn
	MessagePasted       MessageState = "pasted"       // its host has pasted and submitted it
	MessageAcknowledged MessageState = "acknowledged" // a hook of the tool reported that the text was submitted
	MessageUnconfirmed  MessageState = "unconfirmed"  // it is not known whether it arrived
	MessageUndelivered  MessageState = "undelivered"  // it was not pasted
)

// MessageReason is why a message is unconfirmed or undelivered.
type MessageReason string

// The reasons.
const (
	MessageNotReported MessageReason = "not_reported"        // unconfirmed: no hook reported it, not even after a second Enter
	MessageUnknown     MessageReason = "outcome_unknown"     // unconfirmed: the host's response was lost
	MessageRunEnded    MessageReason = "run_ended"           // the attempt ended before the delivery
	MessageHostAway    MessageReason = "host_away"           // the host was not connected for a minute
	MessageTakesNone   MessageReason = "provider_takes_none" // the run's provider, or the worker on its host, does not support messages
	MessageNoTurns     MessageReason = "no_turns"            // the provider's hooks do not report the end of a turn
	MessageRefused     MessageReason = "refused"             // the worker could not paste it
)

// MessageWhen is when a message is to be delivered.
type MessageWhen string

// The times of delivery. A turn is the agent's work from one prompt until it waits for the next one.
const (
	MessageNow     MessageWhen = "now"
	MessageTurnEnd MessageWhen = "turn_end"
)

// Message is a text that a person sends to the agent of a live session.
type Message struct {
	ID        string        `json:"id" doc:"UUID"`
	RunID     string        `json:"run_id"`
	Attempt   int           `json:"attempt" doc:"The attempt that it is for; it is not delivered to a later one"`
	Text      string        `json:"text"`
	State     MessageState  `json:"state" enum:"queued,pasted,acknowledged,unconfirmed,undelivered"`
	Reason    MessageReason `json:"reason" enum:",not_reported,outcome_unknown,run_ended,host_away,provider_takes_none,no_turns,refused" doc:"Why it is unconfirmed or undelivered; empty otherwise"`
	By        string        `json:"by" doc:"Who sent it"`
	When      MessageWhen   `json:"when" enum:"now,turn_end"`
	CreatedAt Time          `json:"created_at"`

	Number    int64 `json:"-"` // from 1, its order within the run
	Answer    bool  `json:"-"` // it may answer a question of the agent
	Asked     bool  `json:"-"` // its host was asked to paste it, or is about to be: the request is never repeated
	Nudged    bool  `json:"-"` // Enter was pressed a second time, or is about to be
	UpdatedAt Time  `json:"-"`
	Version   int64 `json:"-"`
}

// The limits of messages.
const (
	MaxMessage = 64 << 10 // bytes
	// MaxOpenMessages limits the open messages of one run.
	MaxOpenMessages = 100
)

// NewMessage holds the fields of a request to send a message.
type NewMessage struct {
	Text   string
	When   MessageWhen // empty: now
	Answer bool
}

// Validate returns a validation error that names every wrong field, or nil.
func (n NewMessage) Validate() error {
	var bad Problems
	if bad.text("text", n.Text, MaxMessage) {
		CheckMessageText(&bad, n.Text)
	}
	oneOf(&bad, "when", n.When, MessageNow, MessageTurnEnd)
	return bad.Err()
}

// CheckMessageText refuses a blank text, and a text with control characters, which could act as keys or end the
// paste.
func CheckMessageText(bad *Problems, text string) {
	switch {
	case strings.TrimSpace(text) == "":
		bad.Add("text", "must not be empty")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		bad.Add("text", "must not contain control characters other than tab and newline")
	}
}

// Open reports whether the message is waiting for its delivery or for the confirmation of its arrival.
func (m *Message) Open() bool { return m.State == MessageQueued || m.State == MessagePasted }

// Settle sets the state of the message and its reason.
func (m *Message) Settle(state MessageState, reason MessageReason) { m.State, m.Reason = state, reason }

// EventPayload returns the payload of run.message. It does not contain the text.
func (m *Message) EventPayload(r *Run) map[string]any {
	p := r.EventPayload()
	p["attempt"], p["message_id"], p["state"], p["when"] = m.Attempt, m.ID, m.State, m.When
	if m.Reason != "" {
		p["reason"] = m.Reason
	}
	if m.By != "" {
		p["by"] = m.By
	}
	if host := r.HostOf(m.Attempt); host != "" {
		p["host_id"] = host
	} else {
		delete(p, "host_id")
	}
	return p
}

// PromptDigest returns a digest by which prompts are compared without storing them again. White space is ignored,
// because tools change it.
func PromptDigest(text string) string {
	sum := sha256.Sum256([]byte(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)))
	return hex.EncodeToString(sum[:])
}

func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
