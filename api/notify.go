package api

import (
	"context"
	"net/http"

	"svc"
)

// Sinks lists the sinks of notifications with their states.
func (c *Client) Sinks(ctx context.Context) ([]svc.SinkState, error) {
	l, err := fetch[svc.List[svc.SinkState]](ctx, c, http.MethodGet, "/notify", nil)
	return l.Items, err
}

// TestSink sends a test message to a sink.
func (c *Client) TestSink(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodPost, path: at("/notify/%s/test", name)}, nil)
}
