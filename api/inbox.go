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
	Until svc.Time `json:"until" doc:"When the entry is shown again, if its cause still exists"`
}

// Inbox returns one page of the inbox, newest first.
func (c *Client) Inbox(ctx context.Context, snoozed bool, p svc.Page) (svc.List[svc.InboxItem], error) {
	q := url.Values{}
	if snoozed {
		q.Set("snoozed", "true")
	}
	return page[svc.List[svc.InboxItem]](ctx, c, "/inbox", q, p)
}

// AllInbox iterates over the inbox, newest first. snoozed includes the snoozed entries.
func (c *Client) AllInbox(ctx context.Context, snoozed bool) iter.Seq2[svc.InboxItem, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.InboxItem], error) {
		return c.Inbox(ctx, snoozed, p)
	})
}

// SnoozeInbox hides an entry until a time, for all users.
func (c *Client) SnoozeInbox(ctx context.Context, key string, until svc.Time) (svc.InboxItem, error) {
	return fetch[svc.InboxItem](ctx, c, http.MethodPost, at("/inbox/%s/snooze", key), SnoozeInbox{Until: until})
}

// DismissInbox hides an entry until its cause occurs again, for all users.
func (c *Client) DismissInbox(ctx context.Context, key string) (svc.InboxItem, error) {
	return fetch[svc.InboxItem](ctx, c, http.MethodPost, at("/inbox/%s/dismiss", key), nil)
}
