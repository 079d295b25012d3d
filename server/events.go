package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

func (s *Server) eventRoutes() {
	tags := []string{"Events"}
	register(s, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/events", Tags: tags,
		Summary: "Read the journal, newest first",
	}, func(ctx context.Context, in *struct {
		Topic []string `query:"topic,explode" doc:"Topic or glob such as run.*; repeatable"`
		Paging
	}) (*list[svc.Event], error) {
		globs, err := svc.ParseGlobs(in.Topic)
		if err != nil {
			return nil, err
		}
		return listed(s.Engine.Events(ctx, globs, in.page()))
	})

	text := &huma.Schema{Type: huma.TypeString}
	digits := &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]+$"}
	op := s.document(huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/events/stream", Tags: tags,
		Summary: "Follow the journal as server-sent events",
		Description: "Each message has the event's seq as id, its topic as event and its payload as data. " +
			"With a cursor the stream resumes behind it; when that part of the journal is gone, one message `snapshot` " +
			"with the state as of its id comes first. Without a cursor it begins now. There are no heartbeats.",
		Parameters: []*huma.Param{
			{Name: "topic", In: "query", Description: "Topic or glob such as run.*; repeatable", Schema: &huma.Schema{Type: huma.TypeArray, Items: text}},
			{Name: "last_event_id", In: "query", Description: "The same as the header", Schema: digits},
			{Name: api.HeaderLastEventID, In: "header", Description: "The last seq that was seen", Schema: digits},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "The stream", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: text}}},
		},
	})
	s.route(op, s.last(s.stream))
}

// cursor is where a stream resumes; nil: it begins now. The header is what a
// browser sends when it connects again, so it beats the query of the first time.
func cursor(r *http.Request) (*int64, error) {
	name, value := api.HeaderLastEventID, r.Header.Get(api.HeaderLastEventID)
	if value == "" {
		name, value = "last_event_id", r.URL.Query().Get("last_event_id")
	}
	if value == "" {
		return nil, nil
	}
	seq, err := strconv.ParseUint(value, 10, 63)
	if err != nil || value[0] == '+' {
		return nil, svc.Invalid(name, "must be the seq of an event: digits only")
	}
	after := int64(seq)
	return &after, nil
}
