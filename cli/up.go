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
	"svc/worker"
)

func (a *app) upCommand() *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run an orchestrator and a local worker together",
		Long: "Run an orchestrator and a worker for this machine in one process, on the embedded database.\n" +
			"This is the quickest way to begin; Ctrl-C ends both and leaves running sessions alive.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.up(cmd.Context(), cfg, demo)
		},
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "at the very first start, make a demo project and start a demo run")
	a.setting(cmd, "host-name", "worker.host_name", "`NAME` of this machine's host (default: the machine's own)")
	a.serverFlags(cmd)
	return cmd
}

// onlineWithin bounds the wait for the local worker before the screen is
// printed without its word.
const onlineWithin = 10 * time.Second

// up runs both until ctx ends. The worker ends first, so that it can say
// goodbye to an orchestrator that still listens.
func (a *app) up(ctx context.Context, cfg *config.Config, demo bool) error {
	_, statErr := os.Stat(cfg.DataDir)
	first := start{cfg: cfg, fresh: os.IsNotExist(statErr)}
	level := slog.LevelInfo
	if isTerminal(a.out) {
		level = slog.LevelWarn // the screen says the rest
	}
	log := a.logger(level)
	o, err := a.openOrchestrator(ctx, cfg, log)
	if err != nil {
		return err
	}
	first.orchestrator, first.url = o, localURL(cfg, o.addr)

	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.run(serving) })
	group.Go(func() error {
		defer stopServing()
		return a.beside(ctx, first, demo, log)
	})
	return group.Wait()
}

// beside is what happens beside the orchestrator: the worker, and telling the
// person how things stand.
func (a *app) beside(ctx context.Context, first start, demo bool, log *slog.Logger) error {
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
		if ctx.Err() == nil {
			a.printStart(first)
		}
		<-ctx.Done()
		return nil
	})
	return group.Wait()
}

// localWorker makes the host of this machine and its worker. A worker that
// cannot be is not an error: the rest is useful without it, and the screen says
// why.
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
	return a.newWorker(&cfg, o.worker.Value, o.catalog, log)
}

// awaitHost waits until the worker is online and has looked for its providers,
// and gives the host as it is then.
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

// localURL is how this machine reaches its own orchestrator. With TLS the
// configured address is believed: the certificate is made out to it.
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
