package worker

import (
	"sync"

	"svc/config"
	"svc/provider"
)

// gatewayFile is where new sessions find their models. It is read anew for each of them: a key that was
// replaced in the config file holds for the next run, without a restart.
type gatewayFile struct {
	read func() (config.Gateway, error)

	mu     sync.Mutex // guards the rest
	last   config.Gateway
	broken string // the last error that was logged; empty: the file is in order
}

// gateway is what the config file says now. A file with an error leaves the last good one in force, and is logged once.
func (w *Worker) gateway() provider.Gateway {
	g := &w.gatewayFile
	now, err := g.read()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil && err.Error() != g.broken:
		g.broken = err.Error()
		w.log.Warn("the config file has an error; the gateway stays as it was", "error", err)
	case err == nil:
		if now != g.last {
			w.log.Info("the gateway has changed; new sessions use it")
		}
		g.last, g.broken = now, ""
	}
	return provider.ResolveGateway(g.last, w.variable)
}
