package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

func (s *Server) messageRoutes() {
	tags := []string{"Runs"}
	register(s, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/runs/{id}/messages", Tags: tags,
		Summary: "List the messages to a run's agent, in the order in which they were sent",
	}, func(ctx context.Context, in *struct {
		RunPath
		Paging
	}) (*list[svc.Message], error) {
		return listed(s.Engine.Messages(ctx, in.ID, in.page()))
	})
	register(s, huma.Operation{
		OperationID: "send-message", Method: http.MethodPost, Path: "/runs/{id}/messages", Tags: tags,
		Summary: "Send a message to the agent of a live session",
		Description: "It is pasted and submitted after earlier messages, at most once; run.message and the record show its state. " +
			"409 lease_held while a person holds the lease of the session, 409 needs_input while the agent asks a question, unless answer is true, " +
			"409 no_turns for when turn_end with a provider whose hooks do not report the end of a turn. A provider that takes no messages leaves it undelivered.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
		Body api.SendMessage
	}) (*struct{ Body svc.Message }, error) {
		m, err := s.Engine.SendMessage(ctx, in.ID, in.Body.New())
		return &struct{ Body svc.Message }{m}, err
	})
}
