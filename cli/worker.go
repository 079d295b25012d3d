package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/config"
	"svc/provider"
	"svc/rundir"
	"svc/worker"
)

func (a *app) workerCommand() *cobra.Command {
	var store bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the worker of this host",
		Long: "Run the worker of this host: it connects to the orchestrator, takes runs and keeps each in a session.\n" +
			"Stopping it leaves the sessions alive; the next worker finds them again.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.work(cmd.Context(), cfg, store)
		},
	}
	a.setting(cmd, "server", "worker.server_url", "`URL` of the orchestrator (SVC_API_URL)")
	a.setting(cmd, "host-name", "worker.host_name", "`NAME` under which an operator created this host")
	cmd.Flags().BoolVar(&store, "store-token", false, "keep the token of SVC_WORKER_TOKEN in the data directory, for later starts")
	cmd.Flags().BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	cmd.AddCommand(a.workerInstall(), a.workerPrune())
	return cmd
}

func (a *app) workerPrune() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove old logs and unused copies of repositories from this host", Args: takes(),
		Long: "Remove the logs and other files of runs that ended more than [worker] log_days ago,\n" +
			"and mirrors of repositories that no working copy has needed for that time.\n" +
			"A run's files are removed only if the orchestrator has acknowledged its whole log. A worker does the same once a day.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if cfg.Worker.LogDays <= 0 {
				return &problem{what: "nothing is ever removed here", why: "[worker] log_days is 0", next: "set it to a number of days", exit: exitUsage}
			}
			var found worker.Pruned
			for _, dir := range []string{cfg.DataDir, cfg.WorkerDir()} { // the folders of svc worker and of svc up
				p, err := worker.Prune(cmd.Context(), rundir.Dir(dir), time.Now().AddDate(0, 0, -cfg.Worker.LogDays), dry)
				if err != nil {
					return err
				}
				found.Add(p)
			}
			word := "removed"
			if dry {
				word = "would remove"
			}
			a.out.printf("%s %d runs, %d bytes of logs, %d mirrors of repositories\n", word, found.Runs, found.Bytes, found.Mirrors)
			if found.Unconfirmed > 0 {
				a.note("%d old runs stay: it is not known that the orchestrator has their logs", found.Unconfirmed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be removed, and remove nothing")
	return cmd
}

// work runs a worker until ctx ends. Errors that no retry can fix are returned before it starts.
func (a *app) work(ctx context.Context, cfg *config.Config, store bool) error {
	if _, err := checkTmux(ctx); err != nil {
		return err
	}
	if _, err := config.EnsureDataDir(cfg.DataDir); err != nil {
		return err
	}
	token, err := config.WorkerToken(cfg.DataDir, a.getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return &problem{
			what: "there is no worker token", why: "neither SVC_WORKER_TOKEN nor the file " + filepath.Join(cfg.DataDir, "host_token") + " is there",
			next: "an operator gets one with: svc host create " + cfg.Worker.HostName, exit: exitUnauthorized, err: err,
		}
	}
	if err != nil {
		return err
	}
	log := a.logger(slog.LevelInfo)
	if token.Warning != "" {
		log.Warn(token.Warning)
	}
	if err := a.probeServer(ctx, cfg, token); err != nil {
		return err
	}
	if store && token.From == "SVC_WORKER_TOKEN" { // else it is in its file already
		if err := storeToken(cfg, token); err != nil {
			return err
		}
	}
	w, err := a.newWorker(cfg, token.Value, nil, nil, log)
	if err != nil {
		return err
	}
	if cfg.Worker.Metrics != "" {
		stop, err := serveWorkerMetrics(ctx, cfg.Worker.Metrics, w.Figures, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	return workerProblem(cfg, w.Run(ctx))
}

// storeToken stores the token from the environment for later starts.
func storeToken(cfg *config.Config, token config.Token) error {
	err := config.StoreHostToken(cfg.DataDir, string(token.Value))
	if errors.Is(err, config.ErrOtherHost) {
		return &problem{
			what: "the token was not stored", why: filepath.Join(cfg.DataDir, "host_token") + " holds the token of another host",
			next: "give this worker a folder of its own with --data-dir, or remove that file first", exit: exitConflict, err: err,
		}
	}
	return err
}

// newWorker wires a worker to this program: svc itself is the wrapper and writes the log. With a nil registry the
// worker opens the catalog itself. hide lists the paths that contained sessions do not see, besides the worker's own.
func (a *app) newWorker(cfg *config.Config, token config.Secret, registry *provider.Registry, hide []string, log *slog.Logger) (*worker.Worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return worker.New(worker.Options{
		Gateway: func() (config.Gateway, error) {
			now, err := config.Load(a.sources())
			if err != nil {
				return config.Gateway{}, err
			}
			return now.Gateway, nil
		},
		Config: cfg, Token: token, Version: Version(), Logger: log, Registry: registry,
		WrapperArgv: []string{self, "exec", "run"}, SinkArgv: []string{self, "exec", "sink"},
		InsideArgv: []string{self, "exec", "inside"}, Hide: hide,
		Environ: a.environWithSelf(self),
	})
}

// environWithSelf returns the environment with the directory of svc at the end of the PATH, so that the demo provider
// and hooks find svc wherever it is installed.
func (a *app) environWithSelf(self string) []string {
	environ := make([]string, 0, len(a.env)+1)
	for _, pair := range a.env {
		if !strings.HasPrefix(pair, "PATH=") {
			environ = append(environ, pair)
		}
	}
	return append(environ, "PATH="+a.searchPath(self))
}

func (a *app) searchPath(self string) string {
	return provider.WithDir(a.getenv("PATH"), filepath.Dir(self))
}

// workerProblem explains why a worker could not start.
func workerProblem(cfg *config.Config, err error) error {
	if errors.Is(err, rundir.ErrWorkerRuns) {
		return &problem{
			what: "a worker runs on this data directory already", why: cfg.DataDir + " is in use",
			next: "stop that one first (`svc up` has one built in), or choose another --data-dir", exit: exitConflict, err: err,
		}
	}
	return err
}
