package worker

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"svc"
	"svc/provider"
	"svc/wire"
)

// openRegistry opens the catalog that the config names, and writes the shipped catalog first if the file is
// missing.
func (w *Worker) openRegistry() error {
	path := w.opts.Config.CatalogPath
	made, err := provider.EnsureFile(path)
	if err != nil {
		return err
	}
	if made {
		w.log.Info("wrote the first provider catalog", "path", path)
	}
	w.registry, err = provider.Open(path, provider.Options{Logger: w.log, LastGood: w.opts.Config.LastGoodCatalog()})
	return err
}

// Missing tools are probed again: one may have been installed, or the machine was too busy for an answer in
// time. The time limit doubles with each probe, so that even a busy machine finds its tools.
const (
	probeAgainMost = 10 * time.Minute
	probeLimitMost = 2 * time.Minute
	probeAskedPoll = time.Second // how often a requested probe and the catalog's error state are checked
)

// followProviders finds out which tools are installed and reports them: at the start, after each change of the
// catalog, on request, and with back-off for the missing ones.
func (w *Worker) followProviders(ctx context.Context) {
	changes, cancel := w.registry.Subscribe()
	defer cancel()
	asked := time.NewTicker(probeAskedPoll)
	defer asked.Stop()
	catalog := w.registry.Current()
	entries, pause, limit := catalog.Entries(), w.opts.ProbeAgain, w.opts.ProbeLimit
	problem := w.registry.Problem() // the first heartbeat reports this one
	for {
		reports := provider.ProbeEntries(ctx, entries, w.searchPath(), limit)
		if ctx.Err() != nil {
			return
		}
		for _, name := range provider.Unused(catalog, w.searchPath()) {
			reports[name] = svc.ProviderReport{Preset: true, Reason: "installed, but not in this host's catalog; to add it, run: svc provider add " + name}
		}
		entries = w.keepReports(catalog, reports)
		again := time.NewTimer(pause)
		for wait := true; wait; {
			select {
			case <-ctx.Done():
				again.Stop()
				return
			case catalog = <-changes:
				entries, pause, wait = catalog.Entries(), w.opts.ProbeAgain, false
			case <-w.probe:
				entries, pause, wait = catalog.Entries(), w.opts.ProbeAgain, false
			case <-asked.C:
				if now := w.registry.Problem(); now != problem {
					problem = now
					w.sendHeartbeat()
				}
				if w.dir.TakeProbeRequest() {
					entries, pause, wait = catalog.Entries(), w.opts.ProbeAgain, false
				}
			case <-again.C:
				pause, limit = min(2*pause, probeAgainMost), min(2*limit, max(probeLimitMost, w.opts.ProbeLimit))
				wait = false
			}
		}
		again.Stop()
	}
}

// keepReports stores the results of a probe, including the unused presets, and reports them when they have
// changed. It returns the entries that are not available.
func (w *Worker) keepReports(catalog *provider.Catalog, found map[string]svc.ProviderReport) (missing []provider.Entry) {
	w.mu.Lock()
	now := map[string]svc.ProviderReport{}
	for _, e := range catalog.Entries() {
		report, looked := found[e.ID]
		if !looked {
			report = w.reports[e.ID]
		}
		now[e.ID] = report
		if !report.Available {
			missing = append(missing, e)
		}
	}
	for id, report := range found {
		if report.Preset {
			now[id] = report
		}
	}
	changed := w.reports == nil || !maps.Equal(w.reports, now) || w.catalogHash != catalog.Hash()
	w.reports, w.catalogHash = now, catalog.Hash()
	l := w.link
	w.mu.Unlock()
	if l != nil && changed {
		w.reportProviders(l)
	}
	return missing
}

// compareReport starts a probe of all tools when a start has shown that the stored report of one is wrong.
func (w *Worker) compareReport(id string, found bool) {
	w.mu.Lock()
	report, known := w.reports[id]
	w.mu.Unlock()
	if !known || report.Available == found {
		return
	}
	select {
	case w.probe <- struct{}{}:
	default:
	}
}

// reportProviders sends the reports of the catalog's tools. It sends nothing before the first probe, after
// which followProviders calls it, nor before the connection's first heartbeat.
func (w *Worker) reportProviders(l *link) {
	w.mu.Lock()
	reports := w.reports
	w.mu.Unlock()
	if reports != nil && l.can(wire.CapProviders) && l.greeted.Load() {
		if !l.can(wire.CapPresets) {
			reports = maps.Clone(reports)
			maps.DeleteFunc(reports, func(_ string, r svc.ProviderReport) bool { return r.Preset })
		}
		l.out.push(laneControl, &wire.Providers{Providers: reports, CatalogHash: w.registry.Current().Hash()}, nil)
	}
}

// searchPath returns the PATH of sessions.
func (w *Worker) searchPath() string {
	return provider.WithDir(lookup(w.opts.Environ, "PATH"), w.selfDir())
}

// selfDir returns the folder of the svc program, in which hooks find it.
func (w *Worker) selfDir() string { return filepath.Dir(w.opts.WrapperArgv[0]) }

// lookup returns the last value of a name in an environment; empty: it has none.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
