// Package worker is the daemon on a host that runs sessions: "svc worker". It connects outward to
// the orchestrator, takes runs, keeps each in a terminal session of its own, relays what the
// sessions write and show, and reports how they end.
//
// # What survives what
//
// Sessions belong to tmux, their logs to a program beside it, and every decision is on disk before
// it is acted upon (package rundir). So a worker may be stopped, killed or upgraded at any moment:
// the next one finds the sessions again and goes on, and a clean shutdown leaves them alive. What a
// worker cannot verify it calls unknown, never dead, and it starts nothing on a guess: a session is
// started only by whoever holds its launch file, and that file is read once.
//
// # Who owns what
//
// Each attempt of a run is a session, and one goroutine leads it from its dispatch to its clean-up.
// One goroutine holds the uplink, one more delivers the spool. They meet in Worker, whose lock is
// never held over I/O.
package worker

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"svc"
	"svc/config"
	"svc/provider"
	"svc/rundir"
	"svc/wire"
)

// Options is what a worker is made of. Config and Token are needed; every zero value besides means
// the default that its comment names.
type Options struct {
	// Config has the data directory, the way to the server, [worker], [gateway] and the catalog, as
	// they are when New is called. Gateway says how [gateway] is read anew.
	Config *config.Config
	// Token authenticates this worker. It is never logged and never enters a session.
	Token config.Secret
	// Version is what the orchestrator is told about this program; empty: not said.
	Version string
	// Platform is what the host is shown as. Default: the system and the processor.
	Platform string

	// Logger. Default: slog's.
	Logger *slog.Logger
	// Registry is the provider catalog, followed by its owner. Default: the worker opens the
	// catalog that Config names, writes the shipped one when there is none, and follows it.
	Registry *provider.Registry
	// Gateway reads the section [gateway] anew. Default: as Config has it, for ever.
	Gateway func() (config.Gateway, error)
	// HTTP makes the requests to the orchestrator. Default: one with the system's proxies, and the
	// certificate that Config names.
	HTTP *http.Client

	// WrapperArgv is the command that gets a launch file as its last argument and runs inside
	// the session. Default: this program's own "exec run".
	WrapperArgv []string
	// InsideArgv is the command that is the first process of a contained session. Default: this program's
	// own "exec inside".
	InsideArgv []string
	// FindBwrap finds the program that contains sessions, and fails where they cannot be contained. Default: FindBwrap.
	FindBwrap func(context.Context) (path, version string, err error)
	// Hide are folders and files besides the worker's own that contained sessions do not see. Default: none.
	Hide []string
	// SinkArgv is the command that writes a session's log. It is followed by "--max", the bound
	// in bytes, the file, and the file in which it says what is wrong. Default: a plain cat, without a
	// bound.
	SinkArgv []string
	// Environ is the environment that sessions inherit from. Default: the worker's own.
	Environ []string
	// RuntimeDir holds the sockets of sessions, for the owner alone. Default: a folder for this data
	// directory below XDG_RUNTIME_DIR, else below /tmp.
	RuntimeDir string
	// TmuxBin is the tmux binary. Default: the one on PATH.
	TmuxBin string

	// Liveness is how often a session is asked whether it lives, besides the notification of its
	// end. Default: 10 s.
	Liveness time.Duration
	// Reconcile is how often disk and sessions are compared. Default: 30 s.
	Reconcile time.Duration
	// Snapshots is the time between two looks at a screen. Default: 1 s.
	Snapshots time.Duration
	// ProbeAgain is the time until a tool that was not found is looked for again; it doubles each time.
	// Default: 15 s.
	ProbeAgain time.Duration
	// ProbeLimit is how long a tool may take to say that it is there; it doubles with each look at one that was not found.
	// Default: 10 s, as for the doctor.
	ProbeLimit time.Duration
	// Cooldown is how long this host takes no runs after it could not start some for reasons of its own;
	// it doubles until a run is started. Default: 3 s.
	Cooldown time.Duration
	// LogHold is how long the report of an end waits for the log before it. Default: 10 s.
	LogHold time.Duration

	// Now is the clock of what is stored and sent. Default: time.Now.
	Now func() time.Time
	// Random spreads the tries to connect; it answers in [0, 1). Default: math/rand.
	Random func() float64
}

func (o *Options) fill() error {
	if o.Config == nil {
		return errors.New("worker: no config")
	}
	if o.Token == "" {
		return errors.New("worker: no token")
	}
	if o.Config.Worker.HostName == "" {
		return errors.New("worker: no host name; set [worker] host_name")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("worker: find this program: %w", err)
	}
	if len(o.WrapperArgv) == 0 {
		o.WrapperArgv = []string{self, "exec", "run"}
	}
	if len(o.InsideArgv) == 0 {
		o.InsideArgv = []string{self, "exec", "inside"}
	}
	if o.FindBwrap == nil {
		o.FindBwrap = FindBwrap
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	setDefault(&o.Platform, runtime.GOOS+"/"+runtime.GOARCH)
	setDefault(&o.Liveness, 10*time.Second)
	setDefault(&o.Reconcile, 30*time.Second)
	setDefault(&o.Snapshots, time.Second)
	setDefault(&o.LogHold, 10*time.Second)
	setDefault(&o.ProbeAgain, 15*time.Second)
	setDefault(&o.ProbeLimit, provider.ProbeLimit)
	setDefault(&o.Cooldown, 3*time.Second)
	own := *o.Config // the caller's stays as it is
	setDefault(&own.Worker.HeartbeatInterval, 30*time.Second)
	o.Config = &own
	if o.Gateway == nil {
		o.Gateway = func() (config.Gateway, error) { return own.Gateway, nil }
	}
	if o.HTTP == nil {
		client, err := newHTTP(own.Worker)
		if err != nil {
			return err
		}
		o.HTTP = client
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return nil
}

func setDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

// Worker is one running daemon. Make it with New, run it once.
type Worker struct {
	opts        Options
	log         *slog.Logger
	http        *http.Client
	dir         rundir.Dir
	instanceID  string // of the data directory, kept for ever
	bootID      string // of this process
	key         ed25519.PrivateKey
	born        time.Time
	captures    chan struct{} // holds a token for each session that captures its screen
	capturePace capturePace
	keys        keysOnce
	refusals    refusals
	registry    *provider.Registry
	gatewayFile gatewayFile
	probe       chan struct{} // holds a token when the tools shall be looked for
	runtimeDirs []string      // where the folder of sockets may be
	spool       *spooler
	scanned     processTable
	scopes      *scopes
	keeper      *workspaceKeeper
	dial        func(context.Context) (wire.Conn, wire.Registered, error)
	tasks       sync.WaitGroup // everything that Run waits for
	ctx         context.Context

	mu         sync.Mutex // guards the fields below
	runtimeDir string     // the folder of sockets
	trouble    trouble    // why this host takes no runs
	link       *link      // nil: not connected
	sessions   map[key]*session
	damaged    map[key]rundir.Attempt // attempts whose record cannot be read
	late       map[key]rundir.Attempt // attempts that are over, whose folders hold signals still
	attaches   map[string]*attach
	reports    map[string]svc.ProviderReport // nil until they were first looked for
	// catalogHash is that of the catalog that the reports are about.
	catalogHash string
	orphans     []wire.Orphan   // not yet told
	strange     map[string]bool // sockets of unknown sessions that were told
}

// key names an attempt.
type key struct {
	runID   string
	attempt int
}

// New prepares a worker: it checks the options, makes the folders it needs and reads the catalog.
// Nothing is started and no lock is held before Run.
func New(opts Options) (*Worker, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	w := &Worker{
		opts: opts, log: opts.Logger, http: opts.HTTP, bootID: svc.NewID(), born: time.Now(), registry: opts.Registry,
		captures: make(chan struct{}, mostCaptures), probe: make(chan struct{}, 1),
		sessions: map[key]*session{}, damaged: map[key]rundir.Attempt{}, late: map[key]rundir.Attempt{}, attaches: map[string]*attach{}, strange: map[string]bool{},
	}
	w.dial = w.dialUplink
	warning, err := config.EnsureDataDir(opts.Config.DataDir)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w.warn(warning)
	if w.dir, err = rundir.Open(opts.Config.DataDir); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w.spool = newSpooler(w)
	w.scopes = newScopes(w)
	w.gatewayFile = gatewayFile{read: opts.Gateway, last: opts.Config.Gateway}
	w.keeper = newKeeper(w)
	if w.instanceID, warning, err = config.EnsureInstanceID(opts.Config.DataDir); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w.warn(warning)
	if w.key, warning, err = config.EnsureWorkerKey(opts.Config.DataDir); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w.warn(warning)
	w.runtimeDirs = runtimeDirs(opts.RuntimeDir, opts.Config.DataDir)
	if err := w.ensureSockets(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if w.registry == nil {
		if err := w.openRegistry(); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	return w, nil
}

func (w *Worker) warn(warning string) {
	if warning != "" {
		w.log.Warn(warning)
	}
}

// Run takes the data directory's lock, finds the sessions of an earlier worker, and works until ctx
// ends. It returns when all of its own is cleaned up; the sessions live on. The error says why it
// could not begin; rundir.ErrWorkerRuns means that another worker has the data directory.
func (w *Worker) Run(ctx context.Context) error {
	lock, err := w.dir.HoldWorkerLock()
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	defer func() { _ = lock.Release() }()
	w.ctx = ctx
	w.sweep()
	if err := w.adoptAll(ctx); err != nil {
		w.tasks.Wait()
		return fmt.Errorf("worker: %w", err)
	}
	w.log.Info("worker runs", "server", w.server(), "host_name", w.opts.Config.Worker.HostName,
		"data_dir", w.opts.Config.DataDir, "instance_id", w.instanceID, "boot_id", w.bootID,
		"worker_key", w.publicKey())
	if w.opts.Registry == nil {
		w.tasks.Go(func() { _ = w.registry.Run(ctx) })
	}
	w.tasks.Go(func() { w.followProviders(ctx) })
	w.tasks.Go(func() { w.spool.run(ctx) })
	w.tasks.Go(func() { w.scopes.begin() }) // before the first run needs to know
	w.tasks.Go(func() { w.reconcile(ctx) })
	w.refuseUncontained(ctx)
	w.tasks.Go(func() { w.keeper.run(ctx) })
	w.keepConnected(ctx)
	w.tasks.Wait()
	w.http.CloseIdleConnections()
	w.log.Info("worker ends; its sessions live on", "sessions", len(w.inventory()))
	return nil
}
