package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// InboxPath holds the key of an inbox entry from a path.
type InboxPath struct {
	Key string `path:"key" doc:"Key of the entry"`
}

type entry struct{ Body svc.InboxItem }

func inboxEntry(item svc.InboxItem, err error) (*entry, error) {
	if err != nil {
		return nil, err
	}
	return &entry{item}, nil
}

func (s *Server) inboxRoutes() {
	tags := []string{"Inbox"}
	register(s, huma.Operation{
		OperationID: "list-inbox", Method: http.MethodGet, Path: "/inbox", Tags: tags,
		Summary: "List what needs a person, newest first",
		Description: "Computed from the records: an entry disappears when its cause ends, such as an answered question, a newer run, a discarded change or a host that is back. " +
			"Dismissed entries are left out; snoozed entries too, unless snoozed is true.",
	}, func(ctx context.Context, in *struct {
		Snoozed string `query:"snoozed" enum:"true,false" doc:"Whether snoozed entries are listed too"`
		Paging
	}) (*list[svc.InboxItem], error) {
		return listed(s.Engine.Inbox(ctx, svc.InboxFilter{Snoozed: in.Snoozed == "true"}, in.page()))
	})
	register(s, huma.Operation{
		OperationID: "snooze-inbox-item", Method: http.MethodPost, Path: "/inbox/{key}/snooze", Tags: tags,
		Summary:     "Hide an entry until a time, for all users",
		Description: "It is shown again at that time if its cause still exists. 404 when the cause is over.",
	}, func(ctx context.Context, in *struct {
		InboxPath
		Retryable
		Body api.SnoozeInbox
	}) (*entry, error) {
		return inboxEntry(s.Engine.SnoozeInbox(ctx, in.Key, in.Body.Until))
	})
	register(s, huma.Operation{
		OperationID: "dismiss-inbox-item", Method: http.MethodPost, Path: "/inbox/{key}/dismiss", Tags: tags,
		Summary:     "Hide an entry until its cause occurs again, for all users",
		Description: "404 when the cause is over.",
	}, func(ctx context.Context, in *struct {
		InboxPath
		Retryable
	}) (*entry, error) {
		return inboxEntry(s.Engine.DismissInbox(ctx, in.Key))
	})
}
