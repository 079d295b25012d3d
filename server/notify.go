package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// Notifier manages the sinks of notifications.
type Notifier interface {
	States(ctx context.Context) ([]svc.SinkState, error)
	Test(ctx context.Context, name string) error
}

// noSinks is the Notifier of an orchestrator without sinks.
type noSinks struct{}

func (noSinks) States(context.Context) ([]svc.SinkState, error) { return []svc.SinkState{}, nil }
func (noSinks) Test(_ context.Context, name string) error       { return svc.NotFound("sink", name) }

func (s *Server) notifyRoutes() {
	tags := []string{"Inbox"}
	register(s, huma.Operation{
		OperationID: "list-sinks", Method: http.MethodGet, Path: "/notify", Tags: tags,
		Summary:     "List the sinks of notifications with their states",
		Description: "In the order of the config file. Addresses and secrets are not shown.",
	}, func(ctx context.Context, _ *struct{}) (*list[svc.SinkState], error) {
		states, err := s.Notifier.States(ctx)
		return listed(svc.List[svc.SinkState]{Items: states}, err)
	})
	register(s, huma.Operation{
		OperationID: "test-sink", Method: http.MethodPost, Path: "/notify/{name}/test", Tags: tags,
		Summary:       "Send a test message to a sink, at once",
		Description:   "503 sink_failed contains the reason of a failure.",
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Name string `path:"name" doc:"Name of the sink in the config file"`
	}) (*struct{}, error) {
		return nil, s.Notifier.Test(ctx, in.Name)
	})
}
