package worker

import (
	"sync"

	"svc/config"
	"svc/provider"
)

// gatewayFile holds the model gateway of new sessions. It is read again for each session: a key that was
// replaced in the config file is used from the next run on, without a restart.
type gatewayFile struct {
	read func() (config.Gateway, error)

	mu     sync.Mutex // guards the rest
	last   config.Gateway
	broken string // the last error that was logged; empty: the file is in order
}

// gateway returns the gateway that the config file describes now. If the file has an error, the last valid
// gateway stays in use and the error is logged once.
func (w *Worker) gateway() provider.Gateway {
	g := &w.gatewayFile
	now, err := g.read()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil && err.Error() != g.broken:
		g.broken = err.Error()
		w.log.Warn("the config file has an error; the previous gateway stays in use", "error", err)
	case err == nil:
		if now != g.last {
			w.log.Info("the gateway has changed; new sessions use it")
		}
		g.last, g.broken = now, ""
	}
	return provider.ResolveGateway(g.last, w.variable)
}
