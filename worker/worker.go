// Package worker is the daemon on a host that runs sessions: "svc worker". It connects to the orchestrator,
// accepts runs, starts each in a terminal session of its own, relays the output and the screens of the
// sessions, and reports their ends.
//
// # What survives a restart
//
// Sessions belong to tmux, their logs to a separate process, and every decision is written to disk before it is
// executed (package rundir). So a worker may be stopped, killed or upgraded at any moment: the next worker
// finds the sessions again and resumes them, and a clean shutdown leaves them running. If a worker cannot
// verify a session, its state is unknown, never ended. The worker never starts a session twice: only the
// process that holds the launch file can start it, and that file can be read only once.
//
// # Goroutines
//
// Each attempt of a run is a session, led by one goroutine from its dispatch to its clean-up. One goroutine
// serves the uplink, another delivers the spool. They share the Worker, whose lock is never held over I/O.
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

// Options configures a worker. Config and Token are required; the zero value of every other field means the
// default that its comment names.
type Options struct {
	// Config has the data directory, the server's URL, [worker], [gateway] and the catalog, with their values
	// at the call of New. The field Gateway reads [gateway] again.
	Config *config.Config
	// Token authenticates this worker. It is never logged and never enters a session.
	Token config.Secret
	// Version is the version of this program that is reported to the orchestrator; empty: none is reported.
	Version string
	// Platform is the platform that is shown for the host. Default: the operating system and the processor
	// architecture.
	Platform string

	// Logger is the worker's log. Default: slog's.
	Logger *slog.Logger
	// Registry is the provider catalog. The caller keeps it up to date. Default: the worker opens the catalog
	// that Config names, writes the shipped one when there is none, and watches it.
	Registry *provider.Registry
	// Gateway reads the section [gateway] again. Default: it returns the value of Config.
	Gateway func() (config.Gateway, error)
	// HTTP is the client for the orchestrator. Default: one with the system's proxies and the certificate that
	// Config names.
	HTTP *http.Client

	// WrapperArgv is the command that runs inside the session; it gets a launch file as its last argument.
	// Default: this program's own "exec run".
	WrapperArgv []string
	// InsideArgv is the command that is the first process of a contained session. Default: this program's
	// own "exec inside".
	InsideArgv []string
	// FindBwrap finds the program that contains sessions, and returns an error where they cannot be contained.
	// Default: the function FindBwrap.
	FindBwrap func(context.Context) (path, version string, err error)
	// Hide are folders and files that contained sessions do not see, in addition to the worker's own. Default:
	// none.
	Hide []string
	// SinkArgv is the command that writes a session's log. It gets the arguments "--max", the limit in bytes,
	// the log file, the file in which it records a problem, and the file of times. Default: a plain cat,
	// without a limit.
	SinkArgv []string
	// Environ is the environment that sessions inherit from. Default: the worker's own.
	Environ []string
	// RuntimeDir is the folder of the sessions' sockets, accessible to its owner only. Default: a folder for
	// this data directory below XDG_RUNTIME_DIR, otherwise below /tmp.
	RuntimeDir string
	// TmuxBin is the tmux binary. Default: the one on PATH.
	TmuxBin string

	// Liveness is how often a session is checked, in addition to the notification of its end. Default: 10 s.
	Liveness time.Duration
	// Reconcile is how often the disk is compared with the known sessions. Default: 30 s.
	Reconcile time.Duration
	// Snapshots is the interval of screen captures. Default: 1 s.
	Snapshots time.Duration
	// ProbeAgain is the time until a missing tool is probed again; it doubles each time. Default: 15 s.
	ProbeAgain time.Duration
	// ProbeLimit is how long the probe of a tool may take; it doubles with each further probe of a missing
	// tool. Default: 10 s, as for the doctor.
	ProbeLimit time.Duration
	// Cooldown is how long this host refuses runs after it could not start some because of a local fault; it
	// doubles until a run is started. Default: 3 s.
	Cooldown time.Duration
	// LogHold is how long the report of an end waits for the log, which is sent before it. Default: 10 s.
	LogHold time.Duration

	// Now is the clock for times that are stored and sent. Default: time.Now.
	Now func() time.Time
	// Random spreads the connection attempts; it returns a number in [0, 1). Default: math/rand.
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
	own := *o.Config // the caller's Config is not changed
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
	instanceID  string // of the data directory; it never changes
	bootID      string // of this process
	key         ed25519.PrivateKey
	born        time.Time
	captures    chan struct{} // holds a token for each session that captures its screen
	capturePace capturePace
	keys        keysOnce
	refusals    refusals
	registry    *provider.Registry
	gatewayFile gatewayFile
	probe       chan struct{} // holds a token when a probe of the tools is requested
	runtimeDirs []string      // candidates for the folder of sockets
	spool       *spooler
	scanned     processTable
	scopes      *scopes
	keeper      *workspaceKeeper
	dial        func(context.Context) (wire.Conn, wire.Registered, error)
	tasks       sync.WaitGroup // all goroutines; Run waits for them
	ctx         context.Context

	mu         sync.Mutex // guards the fields below
	runtimeDir string     // the folder of sockets
	trouble    trouble    // why this host refuses runs
	link       *link      // nil: not connected
	resumption resumption
	sessions   map[key]*session
	damaged    map[key]rundir.Attempt // attempts whose record cannot be read
	late       map[key]rundir.Attempt // attempts that are over but whose folders have undelivered signals
	attaches   map[string]*attach
	reports    map[string]svc.ProviderReport // nil until the first probe
	// catalogHash is the hash of the catalog that the reports describe.
	catalogHash string
	orphans     []wire.Orphan   // not reported yet
	strange     map[string]bool // sockets of unknown sessions that were reported
}

// key identifies an attempt.
type key struct {
	runID   string
	attempt int
}

// New prepares a worker: it checks the options, makes the folders it needs and reads the catalog. It starts
// nothing and takes no lock; Run does.
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

// Run locks the data directory, finds the sessions of an earlier worker, and works until ctx ends. It returns
// when all its goroutines have ended; the sessions live on. The error is why it could not start;
// rundir.ErrWorkerRuns means that another worker uses the data directory.
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
