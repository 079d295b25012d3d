package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/cluster"
	"svc/config"
	"svc/hub"
	"svc/mirror"
	"svc/server"
	"svc/store"
)

// peerConns is how many connections another orchestrator may have here that are not authenticated yet: it opens one for
// each uplink, and thousands of workers may come back at once.
const peerConns = 4096

// member is an orchestrator that shares its database with others.
type member struct {
	basics
	id       string
	registry *store.Registry
	cluster  *cluster.Member
	standby  core // answers requests while another orchestrator leads
	leading  atomic.Pointer[core]
	files    *mirror.Source   // the relayed files, for the other orchestrators to copy
	public   *server.Endpoint // for clients and workers
	peers    *server.Endpoint // for the other orchestrators
	addr     net.Addr
}

// openMember opens the listeners and registers this orchestrator beside the others. run closes what it opened. After
// an error the process ends.
func (a *app) openMember(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *member, err error) {
	m := &member{basics: basics{cfg: cfg, log: log}, id: svc.NewID(), files: mirror.NewSource(cfg.RelayDir())}
	if err := m.prepare(a); err != nil {
		return nil, err
	}
	workers, err := server.ReadAuthority(cfg.Server.WorkerCA)
	if err != nil {
		return nil, err
	}
	m.cluster = cluster.New(cluster.Config{
		ID: m.id, Key: []byte(m.key), Log: log, Lead: m.lead, UplinkPath: server.UplinkPath, RegisterPath: server.RegisterPath,
		Refuse: server.Refuse, Accepted: server.AcceptedRequest, Repeatable: server.Repeatable,
		Files: m.files, Records: server.OfRecords, RecordsMostly: server.OfRecordsMostly,
		Hint: func() {
			if c := m.leading.Load(); c != nil {
				c.engine.OthersWrote()
			}
		},
	})
	m.process = memberMetrics(m.cluster.Figures, &m.counts)
	m.public = &server.Endpoint{Addr: cfg.Server.Addr(), TLSCert: cfg.Server.TLSCert, TLSKey: cfg.Server.TLSKey, Workers: workers, Handler: m.cluster, Log: log}
	m.peers = &server.Endpoint{Addr: cfg.Server.PeerAddr(), Handler: m.cluster.Peers(), Log: log, MostAnonymous: peerConns}
	if m.addr, err = m.public.Listen(ctx); err != nil {
		return nil, listenProblem(ctx, cfg, err)
	}
	if _, err = m.peers.Listen(ctx); err != nil {
		return nil, fmt.Errorf("listen for other orchestrators, see [server] cluster_listen: %w", err)
	}
	if err := m.join(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// join registers this orchestrator beside the others, and opens the standby, which answers while another orchestrator
// leads.
func (m *member) join(ctx context.Context) (err error) {
	cfg, log := m.cfg, m.log
	key, tokens := cluster.Prints([]byte(m.key), string(m.user.Value), string(m.worker.Value))
	m.registry, err = store.Join(ctx, cfg.Server.Database, store.Member{ID: m.id, Address: cfg.Server.ClusterAddress, Version: Version(),
		KeyPrint: key, TokenPrint: tokens, ConfigPrint: configPrint(cfg)}, log)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.registry.Close())
		}
	}()
	m.cluster.Registry = m.registry
	if m.standby.store, err = store.Open(ctx, cfg.Server.Database, store.Options{Log: log, Counts: &m.counts}); err != nil {
		return err
	}
	if err := m.standby.build(ctx, &m.basics, m.id, true); err != nil {
		return err
	}
	m.cluster.Standby = m.standby.server.Handler()
	return nil
}

// configPrint returns a hash of the settings that must be the same on all orchestrators, because their decisions
// depend on them.
func configPrint(cfg *config.Config) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %+v %+v %+v %+v", cfg.Runs, cfg.Hosts, cfg.WorkItems, cfg.Events, cfg.Retention))
	return hex.EncodeToString(sum[:8])
}

// run serves until ctx ends or this orchestrator is drained.
func (m *member) run(ctx context.Context) (err error) {
	defer func() {
		m.cluster.Close()
		err = errors.Join(err, m.standby.store.Close(), m.registry.Close())
	}()
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	defer shut()
	g, open := errgroup.WithContext(open)
	g.Go(func() error { return m.public.Run(open, server.Drain) })
	g.Go(func() error { return m.peers.Run(open, server.Drain) })
	g.Go(func() error { return m.standby.engine.Serve(open) })
	g.Go(func() error {
		m.cluster.Hints(open, m.standby.store.Committed)
		return nil
	})
	g.Go(func() error {
		defer shut()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(open, stop)() // a listener that failed ends it
		err := m.cluster.Run(ctx)
		m.standby.server.Close()
		return err
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("orchestrator: %w", err)
	}
	return nil
}

// lead is one term of this orchestrator as the leader.
func (m *member) lead(ctx context.Context, serve cluster.Serve) error {
	var c core
	if err := m.copying(ctx, func() error { return c.open(ctx, &m.basics, m.id) }); err != nil {
		return err
	}
	if err := c.build(ctx, &m.basics, m.id, false); err != nil {
		return err
	}
	c.hub.OnWritten, c.hub.OnRemoved = m.files.Written, m.files.Removed
	began := time.Now()
	m.log.Info("this orchestrator leads")
	c.notify.PublicURL = cmp.Or(m.cfg.Server.PublicURL, localURL(m.cfg, m.addr))
	err := c.run(ctx, &m.basics, func(ctx context.Context) error {
		m.leading.Store(&c)
		stop := serve(c.server.Handler(), c.server.Close)
		<-ctx.Done()
		m.leading.Store(nil)
		stop()
		return nil
	})
	m.log.Info("this orchestrator led", "for", time.Since(began).Round(time.Second))
	return err
}

// copying copies the relayed files from the leader while wait waits for this orchestrator's turn to lead. So the loss
// of the leader's disk loses none of them.
func (m *member) copying(ctx context.Context, wait func() error) error {
	copying, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	puller := &mirror.Puller{Dir: m.cfg.RelayDir(), Client: m.cluster.Client(), Base: m.cluster.Leader, Log: m.log, MinFree: m.cfg.Retention.RelayMinFree, Order: hub.OlderFile,
		Keep: time.Duration(m.cfg.Retention.RelayDays) * 24 * time.Hour, Gone: func(ctx context.Context, file string) bool {
			return m.cluster.ClockRight() && m.standby.engine.RelayGone(ctx, file) // the age of a file is computed with this clock
		}}
	go func() { done <- puller.Run(copying) }()
	err := wait()
	stop()
	if copyErr := <-done; copyErr != nil && !errors.Is(copyErr, context.Canceled) {
		m.log.Warn("relayed files are not copied", "error", copyErr)
	}
	return err
}
