package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"svc"
	"svc/config"
	"svc/engine"
	"svc/hub"
	"svc/notify"
	"svc/provider"
	"svc/server"
	"svc/store"
	"svc/web"
)

// orchestrator is a whole orchestrator, opened and listening.
type orchestrator struct {
	basics
	core
	addr net.Addr
}

// basics is the part of an orchestrator that it has whether or not it leads: its settings, secrets and catalog.
type basics struct {
	cfg     *config.Config
	log     *slog.Logger
	catalog *provider.Registry
	user    config.Token
	worker  config.Token
	key     config.Secret
	counts  store.Counts
	process prometheus.Gatherer // the metrics of one of several orchestrators; nil: there is only one
}

// core is the part of an orchestrator that decides and answers requests. It uses the database.
type core struct {
	store  *store.Store
	hub    *hub.Hub
	engine *engine.Engine
	server *server.Server
	notify *notify.Dispatcher
}

// openOrchestrator opens everything up to the listener. run closes what it opened; when openOrchestrator fails, it
// closes that itself.
func (a *app) openOrchestrator(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *orchestrator, err error) {
	o := &orchestrator{basics: basics{cfg: cfg, log: log}}
	if err := o.prepare(a); err != nil {
		return nil, err
	}
	if err := o.open(ctx, &o.basics, ""); err != nil {
		return nil, err
	}
	if err := o.build(ctx, &o.basics, "", false); err != nil {
		return nil, err
	}
	if o.addr, err = o.server.Listen(ctx); err != nil {
		return nil, errors.Join(listenProblem(ctx, cfg, err), o.store.Close())
	}
	o.notify.PublicURL = cmp.Or(cfg.Server.PublicURL, localURL(cfg, o.addr))
	return o, nil
}

// open opens the database. A member of several orchestrators waits here for its turn to lead.
func (c *core) open(ctx context.Context, o *basics, replica string) (err error) {
	c.store, err = store.Open(ctx, o.cfg.Server.Database, store.Options{Log: o.log, Exclusive: true, Replica: replica, Counts: &o.counts})
	return err
}

// build makes the parts that use the database. When it fails, it closes the database.
func (c *core) build(ctx context.Context, o *basics, replica string, standby bool) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.store.Close())
		}
	}()
	cfg, log := o.cfg, o.log
	c.hub = hub.New(cfg.RelayDir(), log)
	c.hub.LeaseIdle = cfg.Server.LeaseIdle
	c.hub.Relay.MostLog = cfg.Retention.RelayMaxBytes
	c.hub.Quota.MostHost, c.hub.Quota.MinFree = cfg.Retention.RelayHostMaxBytes, cfg.Retention.RelayMinFree
	c.engine, err = engine.New(ctx, engine.Config{
		Store: c.store, Hub: c.hub, Log: log,
		Version: Version(), ReplicaID: replica, Standby: standby,
		RunDefaults:     svc.RunDefaults{Provider: cfg.Runs.Provider, Model: cfg.Runs.Model},
		DispatchTimeout: cfg.Runs.DispatchTimeout, AckTimeout: cfg.Runs.AckTimeout, LostAfter: cfg.Runs.LostAfter,
		OfflineAfter: cfg.Hosts.OfflineAfter, OutputInterval: cfg.Events.OutputInterval, AutoMarkDone: cfg.WorkItems.AutoMarkDone,
		EventsDays: cfg.Retention.EventsDays, RelayDays: cfg.Retention.RelayDays, SigningKey: []byte(o.key), OwnerTokenHash: svc.SecretHash(string(o.user.Value)),
		KnownProvider: func(id string) bool { return o.catalog.Current().Has(id) },
	})
	if err != nil {
		return err
	}
	c.notify = notify.New(notify.Config{Store: c.store, Sinks: sinksOf(cfg), Log: log})
	c.server, err = server.New(server.Options{
		Notifier: c.notify, Process: o.process,
		Engine: c.engine, Live: &server.Live{Runs: c.engine.Live(), Log: log},
		WorkerToken: server.WorkerToken(o.worker.Value),
		Logger:      log, Version: Version(), Catalog: o.facts, CatalogProblem: o.catalog.Problem, SPA: web.Files(), AllowedOrigins: cfg.Server.AllowedOrigins,
		Addr: cfg.Server.Addr(), TLSCert: cfg.Server.TLSCert, TLSKey: cfg.Server.TLSKey, WorkerCA: cfg.Server.WorkerCA,
	})
	return err
}

func sinksOf(cfg *config.Config) (sinks []svc.Sink) {
	for _, n := range cfg.Notify {
		sinks = append(sinks, n.Sink())
	}
	return sinks
}

// prepare makes what the first start needs: the data dir, the tokens, the signing key and the catalog.
func (o *basics) prepare(a *app) error {
	dir := o.cfg.DataDir
	var warnings []string
	warn := func(w string) { warnings = append(warnings, w) }
	w, err := config.EnsureDataDir(dir)
	if err != nil {
		return err
	}
	warn(w)
	if o.user, err = config.EnsureUserToken(dir, a.getenv); err != nil {
		return err
	}
	warn(o.user.Warning)
	if o.worker, err = config.EnsureWorkerToken(dir, a.getenv); err != nil {
		return err
	}
	warn(o.worker.Warning)
	if o.key, w, err = config.EnsureSigningKey(dir, a.getenv); err != nil {
		return err
	}
	warn(w)
	if _, err := provider.EnsureFile(o.cfg.CatalogPath); err != nil {
		return err
	}
	if o.catalog, err = provider.Open(o.cfg.CatalogPath, provider.Options{Logger: o.log, LastGood: o.cfg.LastGoodCatalog()}); err != nil {
		return err
	}
	for _, w := range warnings {
		if w != "" {
			o.log.Warn(w)
		}
	}
	return nil
}

// facts returns what the API reports of the catalog.
func (o *basics) facts() []server.ProviderInfo {
	var out []server.ProviderInfo
	for _, e := range o.catalog.Current().Entries() {
		signals := make([]string, len(e.CompletionSignals))
		for i, s := range e.CompletionSignals {
			signals[i] = string(s)
		}
		out = append(out, server.ProviderInfo{ID: e.ID, Name: e.Name, Bin: e.Bin, TUIType: string(e.TUIType),
			CompletionSignals: signals, Optional: e.Optional, Conversation: string(e.Conversation), Resumes: e.Resumes()})
	}
	return out
}

// untilDrained returns a context that ends with ctx, or when the orchestrator is drained.
func (o *orchestrator) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		select {
		case <-o.engine.Drained():
			o.log.Info("draining: this orchestrator ends, and its workers connect again")
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// run serves until ctx ends. The listeners close first, then the engine stops, then the database closes: no part is
// used after it has closed.
func (o *orchestrator) run(ctx context.Context) error {
	return o.core.run(ctx, &o.basics, o.server.Run)
}

// run runs the core while serve runs, which ends with ctx or when a part fails. Then the other parts end and the
// database is closed.
func (c *core) run(ctx context.Context, o *basics, serve func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, c.store.Close()) }()
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	g, inner := errgroup.WithContext(inner)
	ended := make(chan struct{})
	defer close(ended)
	defer context.AfterFunc(ctx, func() { c.boundShutdown(o.log, ended) })()
	g.Go(func() error { return c.engine.Serve(inner) })
	g.Go(func() error { return c.notify.Run(inner) })
	g.Go(func() error { return o.catalog.Run(inner) })
	g.Go(func() error { // two orchestrators must not decide side by side
		select {
		case <-c.store.Lost():
			return c.store.LostError()
		case <-inner.Done():
			return nil
		}
	})
	g.Go(func() error {
		defer stopInner()
		listening, stop := context.WithCancel(ctx)
		defer stop()
		context.AfterFunc(inner, stop) // a part that failed ends the listeners too
		return serve(listening)
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("orchestrator: %w", err)
	}
	return nil
}

// shutdownLimit is how long a shutdown waits for a database that does not answer. In that time requests in flight are
// finished, and the engine writes what it holds in memory.
const shutdownLimit = 8 * time.Second

func (c *core) boundShutdown(log *slog.Logger, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(shutdownLimit):
		log.Warn("the database does not answer; the shutdown continues without it")
		c.store.Abort()
	}
}
