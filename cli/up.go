package cli

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"svc"
	"svc/config"
	"svc/engine"
	"svc/rundir"
	"svc/worker"
)

func (a *app) upCommand() *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run an orchestrator and a local worker together",
		Long: "Run an orchestrator and a worker for this machine in one process, on the embedded database.\n" +
			"This is the quickest way to begin; Ctrl-C ends both and leaves running sessions alive. It listens on 127.0.0.1\n" +
			"by default; with --bind 0.0.0.0 other machines can connect.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if cfg.Server.ClusterAddress != "" {
				return usage("use svc serve and svc worker, or remove cluster_address", "svc up is an orchestrator for this machine alone, and [server] cluster_address is set")
			}
			if cfg.Origin("server.bind").Place == config.FromDefault {
				cfg.Server.Bind = "127.0.0.1" // its agents and its operator are on this machine
			}
			return a.up(cmd.Context(), cfg, demo)
		},
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "at the very first start, make a demo project and start a demo run")
	a.setting(cmd, "host-name", "worker.host_name", "`NAME` of this machine's host (default: the machine's own)")
	a.serverFlags(cmd)
	return cmd
}

// onlineWithin bounds the wait for the local worker. After it, the start screen is printed without the worker being
// online.
const onlineWithin = 10 * time.Second

// up runs the orchestrator and the worker until ctx ends. The worker ends first, so that the orchestrator still
// receives that it ends in order.
func (a *app) up(ctx context.Context, cfg *config.Config, demo bool) error {
	_, statErr := os.Stat(cfg.DataDir)
	first := start{cfg: cfg, fresh: os.IsNotExist(statErr)}
	level := slog.LevelInfo
	if isTerminal(a.out) {
		level = slog.LevelWarn // printStart prints the rest
	}
	log := a.logger(level)
	if err := a.firstTools(ctx, &first); err != nil {
		return err
	}
	o, err := a.openOrchestrator(ctx, cfg, log)
	if err != nil {
		return err
	}
	first.orchestrator, first.url = o, localURL(cfg, o.addr)

	ctx, stop := o.untilDrained(ctx)
	defer stop()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.run(serving) })
	group.Go(func() error {
		defer stopServing()
		return a.runLocal(ctx, first, demo, log)
	})
	return group.Wait()
}

// runLocal runs what belongs to `svc up` besides the orchestrator: the worker, and the screens for the user.
func (a *app) runLocal(ctx context.Context, first start, demo bool, log *slog.Logger) error {
	lock, err := rundir.Dir(first.cfg.DataDir).HoldWorkerLock() // no second worker may use this data
	if err != nil {
		return workerProblem(first.cfg, err)
	}
	defer func() { _ = lock.Release() }()
	w, err := a.localWorker(ctx, &first, log)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if w != nil {
		group.Go(func() error { return workerProblem(first.cfg, w.Run(ctx)) })
	}
	group.Go(func() error {
		first.host = awaitHost(ctx, first.orchestrator, first.cfg.Worker.HostName, w != nil)
		if demo {
			if err := makeDemo(ctx, first.orchestrator.engine); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if err := a.firstProject(ctx, &first); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() == nil {
			a.printStart(first)
		}
		<-ctx.Done()
		a.printGoingOn(first.orchestrator.engine)
		return nil
	})
	return group.Wait()
}

// firstTools does at the very first start what `svc init` does for this machine, without any questions: it adds the
// installed tools.
func (a *app) firstTools(ctx context.Context, s *start) (err error) {
	if _, err := os.Lstat(s.cfg.CatalogPath); !os.IsNotExist(err) {
		return nil // opening the catalog reports other errors
	}
	if s.tools, err = a.adoptTools(ctx, s.cfg); err != nil {
		return err
	}
	if g := a.askGateway(ctx, s.cfg); g.URL != "" {
		s.gateway = g.words()
	}
	return nil
}

// firstProject makes a project for the current folder when there is no project at all.
func (a *app) firstProject(ctx context.Context, s *start) error {
	dir, err := os.Getwd()
	if err != nil || a.isHome(dir) {
		return nil //nolint:nilerr // a folder that was removed is none
	}
	e := s.orchestrator.engine
	projects, err := e.Projects(ctx, svc.Page{Limit: 1})
	if err != nil || len(projects.Items) > 0 {
		return err
	}
	plan := a.projectFor(ctx, dir, true)
	n, err := plan.New()
	if err != nil {
		return err
	}
	n.Provider = preferredTool(working(s.tools))
	p, err := e.CreateProject(ctx, n)
	if err != nil {
		return err
	}
	s.project = projectSentence(p, true)
	if plan.noCopies != "" {
		s.copies = "none: " + noCopiesSentence(p, plan.noCopies)
	}
	return nil
}

// goingOnWithin bounds the query for the runs that outlive a shutdown.
const goingOnWithin = 2 * time.Second

// printGoingOn lists the runs that outlive this process, so that the user sees that Ctrl-C did not end them.
func (a *app) printGoingOn(e *engine.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), goingOnWithin)
	defer cancel()
	const most = 5
	runs, err := e.Runs(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunSpawning, svc.RunRunning}}, svc.Page{Limit: most + 1})
	if err != nil || len(runs.Items) == 0 {
		return
	}
	a.out.printf("\nthese runs continue without svc; `svc up` finds them again:\n")
	for _, r := range runs.Items[:min(len(runs.Items), most)] {
		a.out.printf("  %s  %s  %s\n", shortRun(r.ID), r.Provider, r.TaskTitle)
	}
	if len(runs.Items) > most {
		a.out.printf("  and more\n")
	}
}

// localWorker makes the host of this machine and its worker. It returns nil without an error when there can be no
// worker: the orchestrator is useful without it, and the start screen shows the reason.
func (a *app) localWorker(ctx context.Context, first *start, log *slog.Logger) (*worker.Worker, error) {
	o, cfg := first.orchestrator, *first.cfg
	if cfg.Worker.HostName == "" {
		cfg.Worker.HostName = "localhost"
	}
	cfg.Worker.ServerURL = first.url
	first.cfg = &cfg
	if _, err := o.engine.Host(ctx, cfg.Worker.HostName); svc.CodeOf(err) == svc.CodeNotFound {
		_, err = o.engine.CreateHost(ctx, svc.NewHost{Name: cfg.Worker.HostName})
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	first.tmux, first.noWorker = checkTmux(ctx)
	if first.noWorker != nil {
		return nil, nil //nolint:nilerr // the screen tells it, and the rest goes on
	}
	own, err := rundir.Separate(cfg.DataDir, cfg.WorkerDir())
	if err != nil {
		return nil, err
	}
	apart := cfg
	apart.DataDir = string(own)
	return a.newWorker(&apart, o.worker.Value, o.catalog, cfg.Private(), log)
}

// awaitHost waits until the worker is online and has probed its providers, and returns the host as it is then. Unless
// expected is set, it does not wait.
func awaitHost(ctx context.Context, o *orchestrator, name string, expected bool) svc.Host {
	deadline := time.NewTimer(onlineWithin)
	defer deadline.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		h, err := o.engine.Host(ctx, name)
		if !expected || err == nil && h.Status == svc.HostOnline && len(h.Providers) > 0 {
			return h
		}
		select {
		case <-ctx.Done():
			return h
		case <-deadline.C:
			return h
		case <-look.C:
		}
	}
}

// localURL returns the URL at which this machine reaches its own orchestrator. With TLS it is the configured address,
// because the certificate is issued for that.
func localURL(cfg *config.Config, addr net.Addr) string {
	if cfg.Server.TLS() {
		return cfg.ServerURL()
	}
	host := "127.0.0.1"
	if ip := net.ParseIP(cfg.Server.Bind); ip != nil && !ip.IsUnspecified() {
		host = ip.String()
	}
	port := cfg.Server.Port
	if tcp, ok := addr.(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}
