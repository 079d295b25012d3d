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
	office
	core
	addr net.Addr
}

// office is what an orchestrator has whether or not it leads: its settings, secrets and catalog.
type office struct {
	cfg     *config.Config
	log     *slog.Logger
	catalog *provider.Registry
	user    config.Token
	worker  config.Token
	key     config.Secret
	counts  store.Counts
	process prometheus.Gatherer // what an orchestrator of several tells of itself; nil: it is alone
}

// core is the part of an orchestrator that decides and answers. It holds the database.
type core struct {
	store  *store.Store
	hub    *hub.Hub
	engine *engine.Engine
	server *server.Server
	notify *notify.Dispatcher
}

// openOrchestrator opens everything up to the listener. What it opened is
// closed by run, or at once when it fails.
func (a *app) openOrchestrator(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *orchestrator, err error) {
	o := &orchestrator{office: office{cfg: cfg, log: log}}
	if err := o.prepare(a); err != nil {
		return nil, err
	}
	if err := o.open(ctx, &o.office, ""); err != nil {
		return nil, err
	}
	if err := o.build(ctx, &o.office, "", false); err != nil {
		return nil, err
	}
	if o.addr, err = o.server.Listen(ctx); err != nil {
		return nil, errors.Join(listenProblem(ctx, cfg, err), o.store.Close())
	}
	o.notify.PublicURL = cmp.Or(cfg.Server.PublicURL, localURL(cfg, o.addr))
	return o, nil
}

// open opens the database, alone or as a member whose turn it waits for.
func (c *core) open(ctx context.Context, o *office, replica string) (err error) {
	c.store, err = store.Open(ctx, o.cfg.Server.Database, store.Options{Log: o.log, Exclusive: true, Replica: replica, Counts: &o.counts})
	return err
}

// build makes all that stands on the database, which is closed when that fails.
func (c *core) build(ctx context.Context, o *office, replica string, standby bool) (err error) {
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

// prepare makes what the first start makes: the data dir, the tokens, the
// signing key and the catalog.
func (o *office) prepare(a *app) error {
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

// facts is what the API tells of the catalog.
func (o *office) facts() []server.ProviderInfo {
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

// untilDrained ends with ctx, or when the orchestrator is told to hand over and end.
func (o *orchestrator) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		select {
		case <-o.engine.Drained():
			o.log.Info("draining: this orchestrator hands over what it carries, and ends")
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// run serves until ctx ends. The listeners close first, then the engine stops, then
// the database closes: nothing is asked of a part that is gone.
func (o *orchestrator) run(ctx context.Context) error {
	return o.core.run(ctx, &o.office, o.server.Run)
}

// run keeps the core going while serve does, which ends with ctx or when a part breaks; then the rest ends and the database is closed.
func (c *core) run(ctx context.Context, o *office, serve func(context.Context) error) (err error) {
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
		context.AfterFunc(inner, stop) // a part that broke ends the listeners too
		return serve(listening)
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("orchestrator: %w", err)
	}
	return nil
}

// shutdownLimit is how long a shutdown waits for a database that does not
// answer: requests in flight are drained, and the engine writes what it knows.
const shutdownLimit = 8 * time.Second

func (c *core) boundShutdown(log *slog.Logger, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(shutdownLimit):
		log.Warn("the database does not answer; the shutdown goes on without it")
		c.store.Abort()
	}
}
