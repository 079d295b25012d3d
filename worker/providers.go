package worker

import (
	"context"
	"path/filepath"
	"strings"

	"svc/provider"
	"svc/wire"
)

// openRegistry opens the catalog of the config, and writes the shipped one when there is none.
func (w *Worker) openRegistry() error {
	path := w.opts.Config.CatalogPath
	made, err := provider.EnsureFile(path)
	if err != nil {
		return err
	}
	if made {
		w.log.Info("wrote the first provider catalog", "path", path)
	}
	w.registry, err = provider.Open(path, provider.Options{Logger: w.log})
	return err
}

// followProviders looks which tools are installed, now and after each change of the catalog, and
// tells the orchestrator.
func (w *Worker) followProviders(ctx context.Context) {
	changes, cancel := w.registry.Subscribe()
	defer cancel()
	catalog := w.registry.Current()
	for {
		reports := provider.ProbeAll(ctx, catalog, w.searchPath())
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		w.reports = reports
		l := w.link
		w.mu.Unlock()
		if l != nil {
			w.reportProviders(l)
		}
		select {
		case <-ctx.Done():
			return
		case catalog = <-changes:
		}
	}
}

// reportProviders tells what is known of the catalog's tools. Before they were first looked for
// there is nothing to tell; followProviders does it then. Before the first heartbeat it is not told.
func (w *Worker) reportProviders(l *link) {
	w.mu.Lock()
	reports := w.reports
	w.mu.Unlock()
	if reports != nil && l.can(wire.CapProviders) && l.greeted.Load() {
		l.out.push(laneControl, &wire.Providers{Providers: reports}, nil)
	}
}

// searchPath is the PATH of sessions.
func (w *Worker) searchPath() string {
	return provider.WithDir(lookup(w.opts.Environ, "PATH"), w.selfDir())
}

// selfDir is where svc itself is: hooks find it there.
func (w *Worker) selfDir() string { return filepath.Dir(w.opts.WrapperArgv[0]) }

// lookup is the last value of a name in an environment.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
