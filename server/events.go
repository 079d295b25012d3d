package server

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// EventQuery holds the parameters that filter the journal.
type EventQuery struct {
	Topic       []string `query:"topic,explode" doc:"Topic or glob such as run.*; repeatable"`
	ProjectID   string   `query:"project_id" doc:"Events whose payload has this project"`
	TaskID      string   `query:"task_id" doc:"Events whose payload has this work item, including the item's own events"`
	RunID       string   `query:"run_id" doc:"Events whose payload has this run"`
	HostID      string   `query:"host_id" doc:"Events whose payload has this host"`
	WorkspaceID string   `query:"workspace_id" doc:"Events whose payload has this workspace"`
}

func (q EventQuery) filter() (f svc.EventFilter, err error) {
	if f.Topics, err = svc.ParseGlobs(q.Topic); err != nil {
		return f, err
	}
	f.Subjects = svc.Subjects{ProjectID: q.ProjectID, TaskID: q.TaskID, RunID: q.RunID, HostID: q.HostID, WorkspaceID: q.WorkspaceID}
	return f, f.Validate()
}

// eventQueryOf reads the same parameters on routes that huma does not handle.
func eventQueryOf(q url.Values) EventQuery {
	return EventQuery{Topic: q["topic"], ProjectID: q.Get("project_id"), TaskID: q.Get("task_id"), RunID: q.Get("run_id"),
		HostID: q.Get("host_id"), WorkspaceID: q.Get("workspace_id")}
}

// eventMessage and snapshotMessage describe the messages of the stream for the API description. The engine writes
// them.
type (
	eventMessage struct {
		ID    int64          `json:"id" doc:"The event's seq"`
		Event svc.Topic      `json:"event" doc:"Its topic"`
		Data  map[string]any `json:"data" nullable:"false" doc:"Its payload"`
	}
	snapshotMessage struct {
		ID    int64        `json:"id" doc:"The seq up to which the state includes all events"`
		Event string       `json:"event" enum:"snapshot"`
		Data  svc.Snapshot `json:"data"`
	}
)

func (s *Server) eventRoutes() {
	tags := []string{"Events"}
	register(s, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/events", Tags: tags,
		Summary: "Read the journal, newest first",
	}, func(ctx context.Context, in *struct {
		EventQuery
		Paging
	}) (*struct{ Body svc.EventList }, error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		events, err := s.Engine.Events(ctx, f, in.page())
		if err != nil {
			return nil, err
		}
		if events.Items == nil {
			events.Items = []svc.Event{}
		}
		return &struct{ Body svc.EventList }{events}, nil
	})

	text := &huma.Schema{Type: huma.TypeString}
	digits := &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]+$"}
	op := s.document(huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/events/stream", Tags: tags,
		Summary: "Follow the journal as server-sent events",
		Description: "Each message has the event's seq as id, its topic as event and its payload as data. " +
			"With a cursor the stream resumes after it; when that part of the journal is gone, one message `snapshot` " +
			"with the state as of its id comes first. Without a cursor it begins now. There are no heartbeats unless asked for.",
		Parameters: []*huma.Param{
			{Name: "topic", In: "query", Description: "Topic or glob such as run.*; repeatable", Schema: &huma.Schema{Type: huma.TypeArray, Items: text}},
			{Name: "project_id", In: "query", Description: "Events whose payload has this project", Schema: text},
			{Name: "task_id", In: "query", Description: "Events whose payload has this work item", Schema: text},
			{Name: "run_id", In: "query", Description: "Events whose payload has this run", Schema: text},
			{Name: "host_id", In: "query", Description: "Events whose payload has this host", Schema: text},
			{Name: "workspace_id", In: "query", Description: "Events whose payload has this workspace", Schema: text},
			{Name: "heartbeat", In: "query", Description: "A duration from 1s to 60s: a comment line is sent at least this often", Schema: text},
			{Name: "last_event_id", In: "query", Description: "The same as the header", Schema: digits},
			{Name: api.HeaderLastEventID, In: "header", Description: "The last seq that was seen", Schema: digits},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "The stream; each item is a message with its id, its event and its data, which is JSON on one line",
				Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{
					Type: huma.TypeArray, Items: &huma.Schema{AnyOf: []*huma.Schema{schemaOf[eventMessage](s), schemaOf[snapshotMessage](s)}},
				}}}},
		},
	})
	s.route(op, s.longLivedRoute(s.stream))
}

// The limits of the heartbeat interval that a client may request.
const (
	minHeartbeat = time.Second
	maxHeartbeat = time.Minute
)

// heartbeatOf returns the requested heartbeat interval of a stream; 0: no heartbeats.
func heartbeatOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("heartbeat")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minHeartbeat || d > maxHeartbeat {
		return 0, svc.Invalid("heartbeat", "must be a duration from 1s to 60s, such as 5s")
	}
	return d, nil
}

// cursor returns the seq after which a stream resumes; nil: it begins now. A browser sends the header when it
// reconnects, so the header takes precedence over the query of the first request.
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
