package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

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
	cfg     *config.Config
	log     *slog.Logger
	store   *store.Store
	hub     *hub.Hub
	engine  *engine.Engine
	server  *server.Server
	notify  *notify.Dispatcher
	catalog *provider.Registry
	addr    net.Addr
	user    config.Token
	worker  config.Token
}

// openOrchestrator opens everything up to the listener. What it opened is
// closed by run, or at once when it fails.
func (a *app) openOrchestrator(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *orchestrator, err error) {
	o := &orchestrator{cfg: cfg, log: log}
	defer func() {
		if err != nil && o.store != nil {
			err = errors.Join(err, o.store.Close())
		}
	}()
	key, err := o.prepare(a)
	if err != nil {
		return nil, err
	}
	if o.store, err = store.Open(ctx, cfg.Server.Database, store.Options{Log: log, Exclusive: true}); err != nil {
		return nil, err
	}
	o.hub = hub.New(cfg.RelayDir(), log)
	o.hub.LeaseIdle = cfg.Server.LeaseIdle
	o.hub.Relay.MostLog = cfg.Retention.RelayMaxBytes
	o.hub.Quota.MostHost, o.hub.Quota.MinFree = cfg.Retention.RelayHostMaxBytes, cfg.Retention.RelayMinFree
	o.engine, err = engine.New(ctx, engine.Config{
		Store: o.store, Hub: o.hub, Log: log,
		Version:         Version(),
		RunDefaults:     svc.RunDefaults{Provider: cfg.Runs.Provider, Model: cfg.Runs.Model},
		DispatchTimeout: cfg.Runs.DispatchTimeout, AckTimeout: cfg.Runs.AckTimeout, LostAfter: cfg.Runs.LostAfter,
		OfflineAfter: cfg.Hosts.OfflineAfter, OutputInterval: cfg.Events.OutputInterval, AutoMarkDone: cfg.WorkItems.AutoMarkDone,
		EventsDays: cfg.Retention.EventsDays, RelayDays: cfg.Retention.RelayDays, SigningKey: []byte(key), OwnerTokenHash: svc.SecretHash(string(o.user.Value)),
		KnownProvider: func(id string) bool { return o.catalog.Current().Has(id) },
	})
	if err != nil {
		return nil, err
	}
	o.notify = notify.New(notify.Config{Store: o.store, Sinks: sinksOf(cfg), Log: log})
	o.server, err = server.New(server.Options{
		Notifier: o.notify,
		Engine:   o.engine, Live: &server.Live{Runs: o.engine, Panes: o.hub.Panes, Relay: o.hub.Relay, Attach: o.hub.Attach, Log: log,
			FetchLog: o.engine.LogOf, Events: o.engine.EventsAfter},
		WorkerToken: server.WorkerToken(o.worker.Value),
		Logger:      log, Version: Version(), Catalog: o.facts, CatalogProblem: o.catalog.Problem, SPA: web.Files(), AllowedOrigins: cfg.Server.AllowedOrigins,
		Addr: cfg.Server.Addr(), TLSCert: cfg.Server.TLSCert, TLSKey: cfg.Server.TLSKey, WorkerCA: cfg.Server.WorkerCA,
	})
	if err != nil {
		return nil, err
	}
	if o.addr, err = o.server.Listen(ctx); err != nil {
		return nil, listenProblem(ctx, cfg, err)
	}
	o.notify.PublicURL = cmp.Or(cfg.Server.PublicURL, localURL(cfg, o.addr))
	return o, nil
}

func sinksOf(cfg *config.Config) (sinks []svc.Sink) {
	for _, n := range cfg.Notify {
		sinks = append(sinks, n.Sink())
	}
	return sinks
}

// prepare makes what the first start makes: the data dir, the tokens, the
// signing key and the catalog.
func (o *orchestrator) prepare(a *app) (key config.Secret, err error) {
	dir := o.cfg.DataDir
	var warnings []string
	warn := func(w string) { warnings = append(warnings, w) }
	w, err := config.EnsureDataDir(dir)
	if err != nil {
		return "", err
	}
	warn(w)
	if o.user, err = config.EnsureUserToken(dir, a.getenv); err != nil {
		return "", err
	}
	warn(o.user.Warning)
	if o.worker, err = config.EnsureWorkerToken(dir, a.getenv); err != nil {
		return "", err
	}
	warn(o.worker.Warning)
	if key, w, err = config.EnsureSigningKey(dir, a.getenv); err != nil {
		return "", err
	}
	warn(w)
	if _, err := provider.EnsureFile(o.cfg.CatalogPath); err != nil {
		return "", err
	}
	if o.catalog, err = provider.Open(o.cfg.CatalogPath, provider.Options{Logger: o.log, LastGood: o.cfg.LastGoodCatalog()}); err != nil {
		return "", err
	}
	for _, w := range warnings {
		if w != "" {
			o.log.Warn(w)
		}
	}
	return key, nil
}

// facts is what the API tells of the catalog.
func (o *orchestrator) facts() []server.ProviderInfo {
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

// run serves until ctx ends. The doors close first, then the engine stops, then
// the database closes: nothing is asked of a part that is gone.
func (o *orchestrator) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, o.store.Close()) }()
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	g, inner := errgroup.WithContext(inner)
	ended := make(chan struct{})
	defer close(ended)
	defer context.AfterFunc(ctx, func() { o.boundShutdown(ended) })()
	g.Go(func() error { return o.engine.Serve(inner) })
	g.Go(func() error { return o.notify.Run(inner) })
	g.Go(func() error { return o.catalog.Run(inner) })
	g.Go(func() error { // two orchestrators must not decide side by side
		select {
		case <-o.store.Lost():
			return o.store.LostError()
		case <-inner.Done():
			return nil
		}
	})
	g.Go(func() error {
		defer stopInner()
		doors, stop := context.WithCancel(ctx)
		defer stop()
		context.AfterFunc(inner, stop) // a part that broke takes the doors down
		return o.server.Run(doors)
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("orchestrator: %w", err)
	}
	return nil
}

// shutdownLimit is how long a shutdown waits for a database that does not
// answer: requests in flight are drained, and the engine writes what it knows.
const shutdownLimit = 8 * time.Second

func (o *orchestrator) boundShutdown(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(shutdownLimit):
		o.log.Warn("the database does not answer; the shutdown goes on without it")
		o.store.Abort()
	}
}
