package api

import (
	"context"
	"iter"
	"net/http"

	"svc"
)

// Replicas returns one page of orchestrator processes, newest first.
func (c *Client) Replicas(ctx context.Context, p svc.Page) (svc.List[svc.Replica], error) {
	return page[svc.List[svc.Replica]](ctx, c, "/replicas", nil, p)
}

// AllReplicas iterates over all orchestrator processes, newest first.
func (c *Client) AllReplicas(ctx context.Context) iter.Seq2[svc.Replica, error] {
	return walk(ctx, c.Replicas)
}

// DrainReplica makes an orchestrator hand its work over and exit.
func (c *Client) DrainReplica(ctx context.Context, id string) (svc.Replica, error) {
	return fetch[svc.Replica](ctx, c, http.MethodPost, at("/replicas/%s/drain", id), nil)
}
