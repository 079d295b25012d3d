package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"svc"
)

// SnoozeInbox is the body of POST /inbox/{key}/snooze.
type SnoozeInbox struct {
	Until svc.Time `json:"until" doc:"When the entry comes back, if its cause lasts"`
}

// Inbox is one page of what needs a person, newest first.
func (c *Client) Inbox(ctx context.Context, snoozed bool, p svc.Page) (svc.List[svc.InboxItem], error) {
	q := url.Values{}
	if snoozed {
		q.Set("snoozed", "true")
	}
	return page[svc.List[svc.InboxItem]](ctx, c, "/inbox", q, p)
}

// AllInbox walks everything that needs a person, newest first; snoozed entries only when they are asked for.
func (c *Client) AllInbox(ctx context.Context, snoozed bool) iter.Seq2[svc.InboxItem, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.InboxItem], error) {
		return c.Inbox(ctx, snoozed, p)
	})
}

// SnoozeInbox sets an entry aside until a time, for everybody.
func (c *Client) SnoozeInbox(ctx context.Context, key string, until svc.Time) (svc.InboxItem, error) {
	return fetch[svc.InboxItem](ctx, c, http.MethodPost, at("/inbox/%s/snooze", key), SnoozeInbox{Until: until})
}

// DismissInbox sets an entry aside until its cause happens again, for everybody.
func (c *Client) DismissInbox(ctx context.Context, key string) (svc.InboxItem, error) {
	return fetch[svc.InboxItem](ctx, c, http.MethodPost, at("/inbox/%s/dismiss", key), nil)
}
