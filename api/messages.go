package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"svc"
)

// SendMessage is the body of POST /runs/{id}/messages.
type SendMessage struct {
	Text   string          `json:"text" minLength:"1" doc:"Up to 64 KiB, without control characters other than tab and newline"`
	When   svc.MessageWhen `json:"when,omitzero" enum:"now,turn_end" doc:"turn_end: when the agent waits for a prompt; absent: now"`
	Answer bool            `json:"answer,omitzero" doc:"The message may answer a question of the agent; absent: it is refused while there is one"`
}

// New converts the body to the request type of package svc.
func (b SendMessage) New() svc.NewMessage {
	return svc.NewMessage{Text: b.Text, When: b.When, Answer: b.Answer}
}

// SendMessage sends a message to the agent of a run.
func (c *Client) SendMessage(ctx context.Context, runID string, body SendMessage) (svc.Message, error) {
	return fetch[svc.Message](ctx, c, http.MethodPost, at("/runs/%s/messages", runID), body)
}

// Messages returns one page of the messages to a run's agent, in the order in which they were sent.
func (c *Client) Messages(ctx context.Context, runID string, p svc.Page) (svc.List[svc.Message], error) {
	return page[svc.List[svc.Message]](ctx, c, at("/runs/%s/messages", runID), url.Values{}, p)
}

// AllMessages iterates over the messages to a run's agent, in the order in which they were sent.
func (c *Client) AllMessages(ctx context.Context, runID string) iter.Seq2[svc.Message, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Message], error) { return c.Messages(ctx, runID, p) })
}
