// Package config reads an operator's settings and the files of svc's data directory: config.toml, the
// environment, and the secrets that are stored in files.
//
// A value is taken from the first of four sources that has it: a flag, the config file, the environment, the
// default. Load does that once, at the start of a process, and returns a checked Config, or all problems that
// it found. The package has no global state, and only OS reads the process's environment, so a test can pass
// its own.
package config

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config has the settings of all roles; a process uses the sections of its role. The struct tags are the only
// source of names, defaults and documentation: toml is the key, env the variable, default the value when none
// is set (with <data dir> and <host name> replaced), shown the default as the reference prints it if that
// differs.
type Config struct {
	// DataDir is absolute. It is not a key of the file, because the file is in it.
	DataDir string `toml:"-"`

	// File is the config file that was read; empty when there was none.
	File string `toml:"-"`

	CatalogPath string `toml:"catalog_path" kind:"path" default:"<data dir>/providers.toml" doc:"The provider catalog. A worker watches it and reloads it when it changes."`

	Server    Server    `toml:"server" doc:"The orchestrator: where it listens and where it keeps its data."`
	Runs      Runs      `toml:"runs" doc:"Defaults of runs, and how long the orchestrator waits for a run's next step."`
	Hosts     Hosts     `toml:"hosts" doc:"When a worker host counts as offline."`
	WorkItems WorkItems `toml:"work_items" doc:"Defaults of new work items."`
	Events    Events    `toml:"events" doc:"The event journal."`
	Retention Retention `toml:"retention" doc:"How long history is kept."`
	Gateway   Gateway   `toml:"gateway" doc:"The model gateway that sessions are pointed at."`
	Worker    Worker    `toml:"worker" doc:"The worker. The command line reads server_url too."`

	// Notify has each [[notify]], in the order of the file.
	Notify []Notify `toml:"-"`

	origins  map[string]Origin
	platform string // the platform's default data directory
}

// Server is the section [server].
type Server struct {
	Bind           string   `toml:"bind" env:"SVC_BIND" default:"0.0.0.0" doc:"Address to listen on: an IP address or a host name, without a port."`
	Port           int      `toml:"port" env:"SVC_PORT" default:"7898" doc:"TCP port to listen on. 0 takes any free port."`
	TLSCert        string   `toml:"tls_cert" kind:"path" shown:"no TLS" doc:"PEM file with the certificate chain. Needs tls_key."`
	TLSKey         string   `toml:"tls_key" kind:"path" shown:"no TLS" doc:"PEM file with the certificate's private key. Needs tls_cert."`
	WorkerCA       string   `toml:"worker_ca" kind:"path" shown:"no certificate is required" doc:"PEM file with the authority of the workers' certificates. With it, a worker must have a certificate that this authority signed, besides its token. Needs tls_cert."`
	AllowedOrigins []string `toml:"allowed_origins" shown:"only the server's own host" doc:"Other origins whose pages may open the browser sockets, each as scheme://host or scheme://host:port."`
	Database       string   `toml:"database" env:"SVC_DATABASE" kind:"secret" default:"sqlite:<data dir>/svc.db" doc:"sqlite:PATH for the embedded database, postgres://… for PostgreSQL."`

	PublicURL string `toml:"public_url" shown:"the address that it listens on" doc:"URL at which people reach the orchestrator, http or https: the base of the links in notifications."`

	ClusterAddress string `toml:"cluster_address" env:"SVC_CLUSTER_ADDRESS" shown:"none: this orchestrator serves its database alone" doc:"host:port at which other orchestrators on the same PostgreSQL reach this one. Its presence joins them; see operations. All need the same SVC_SIGNING_KEY, SVC_TOKEN and SVC_WORKER_TOKEN."`
	ClusterListen  string `toml:"cluster_listen" env:"SVC_CLUSTER_LISTEN" shown:"the port of cluster_address, on all addresses" doc:"host:port at which this orchestrator listens for the others, where it differs from cluster_address. Needs cluster_address."`

	LeaseIdle time.Duration `toml:"lease_idle" default:"10m" doc:"A user who holds a run's keyboard and sends nothing for this long loses it to the next user who waits for it. 0: never."`
}

// Runs is the section [runs].
type Runs struct {
	DispatchTimeout time.Duration `toml:"dispatch_timeout" default:"5m" doc:"A run that has waited this long for a host fails, unless it was created with wait. Time in which something else held it back does not count, nor does time without a running orchestrator."`
	// LostAfter is 0 when it is off.
	LostAfter  time.Duration `toml:"lost_after" kind:"switchable" default:"off" doc:"Runs of a host that has been offline for this long fail with host_lost. off keeps them as they are."`
	AckTimeout time.Duration `toml:"ack_timeout" default:"15s" doc:"A dispatch that was not acknowledged for this long is pushed again to the same host."`
	Provider   string        `toml:"provider" shown:"none" doc:"Provider of runs that have none, in projects that have none."`
	Model      string        `toml:"model" shown:"the tool's own" doc:"Model of runs that have none, in projects that have none. If provider is set, it applies to that tool only."`
}

// Hosts is the section [hosts].
type Hosts struct {
	OfflineAfter time.Duration `toml:"offline_after" default:"90s" doc:"A host without a heartbeat for this long is offline. Shorten it only for tests and small labs."`
}

// WorkItems is the section [work_items].
type WorkItems struct {
	AutoMarkDone bool `toml:"auto_mark_done" default:"false" doc:"Whether a new work item moves to done when its run reports completion."`
}

// Events is the section [events].
type Events struct {
	OutputInterval time.Duration `toml:"output_interval" default:"5s" doc:"While a run keeps writing, run.output_appended is journaled at most once per interval."`
}

// Retention is the section [retention].
type Retention struct {
	EventsDays        int   `toml:"events_days" default:"30" doc:"Events older than this many days are purged when the orchestrator starts. 0 purges everything older than the start."`
	RelayMaxBytes     int64 `toml:"relay_max_bytes" default:"2147483648" shown:"2147483648 (2 GiB)" doc:"How much of one attempt's log the orchestrator keeps, in bytes. A longer log is cut, with a notice at that place; the rest stays on its host."`
	RelayHostMaxBytes int64 `toml:"relay_host_max_bytes" default:"68719476736" shown:"68719476736 (64 GiB)" doc:"How much the orchestrator keeps of one host, logs and checkpoints together, in bytes. Beyond it, logs are cut, with a notice at that place, and checkpoints wait on the host. relay_days makes room again. 0: no limit."`
	RelayMinFree      int64 `toml:"relay_min_free" default:"268435456" shown:"268435456 (256 MiB)" doc:"Free disk space in bytes below which the orchestrator accepts no logs and checkpoints; they wait on their hosts."`
	RelayDays         int   `toml:"relay_days" default:"30" doc:"The orchestrator's copies of run logs are removed after this many days. The worker's log stays."`
}

// Gateway is the section [gateway]. Both keys are empty when sessions use no gateway.
type Gateway struct {
	URL    string `toml:"url" env:"SVC_GATEWAY_URL" kind:"secret" shown:"no gateway" doc:"Base URL of the gateway, http or https."`
	APIKey Secret `toml:"api_key" env:"SVC_GATEWAY_API_KEY" kind:"secret" shown:"none" doc:"Key that providers get for the gateway."`
}

// Worker is the section [worker].
type Worker struct {
	// ServerURL is empty when it is not set; Config.ServerURL returns the address to use.
	ServerURL string `toml:"server_url" env:"SVC_API_URL" shown:"http://127.0.0.1: and the port; https when tls_cert is set" doc:"URL of the orchestrator, for workers and the command line."`
	// HostName is empty only when it is not set and the machine has no name.
	HostName string `toml:"host_name" default:"<host name>" shown:"the machine's name" doc:"Name under which the operator created this host."`
	Cert     string `toml:"cert" kind:"path" shown:"none" doc:"PEM file with the worker's own certificate, for an orchestrator with worker_ca. Read anew for each connection. Needs key."`
	Key      string `toml:"key" kind:"path" shown:"none" doc:"PEM file with the private key of cert. Needs cert."`
	// Cwd is empty when it is not set; then the worker's home is used.
	Cwd               string           `toml:"cwd" kind:"path" shown:"the worker's home" doc:"Working directory of runs, if neither the run nor its project has one."`
	HeartbeatInterval time.Duration    `toml:"heartbeat_interval" default:"30s" doc:"Time between two heartbeats."`
	StopGrace         [2]time.Duration `toml:"stop_grace" default:"5s,10s" shown:"[\"5s\", \"10s\"]" doc:"Stopping a session: from Ctrl-C to SIGTERM, then from SIGTERM to SIGKILL."`
	Reap              bool             `toml:"reap" default:"true" doc:"Whether processes that outlive their session are ended."`
	LogDays           int              `toml:"log_days" default:"90" doc:"The logs and other files of ended runs are removed from the host after this many days, if the orchestrator has the whole log. 0 keeps them."`
	Scopes            string           `toml:"scopes" default:"auto" doc:"With auto, each run is a systemd scope of its own, if systemd allows the worker to make scopes. off makes none."`
	Contain           string           `toml:"contain" default:"off" doc:"With bwrap, each session runs inside bubblewrap: it sees the machine except svc's own folders, other runs and their terminals, and all of its processes end with it. A host where that is not possible takes no runs."`
	RunMemoryMax      string           `toml:"run_memory_max" shown:"no limit" doc:"Maximum memory of a run's scope: bytes, with K, M, G or T after the number, or a percentage of the machine's memory, as in 4G or 25%. Has no effect without scopes."`
	RunTasksMax       int              `toml:"run_tasks_max" default:"0" shown:"systemd's own limit" doc:"Maximum number of processes and threads in a run's scope. Has no effect without scopes."`
	Metrics           string           `toml:"metrics" shown:"none" doc:"Loopback address, such as 127.0.0.1:9798, at which the worker serves /metrics without a token. Port 0 picks a free one, which the log names."`
	CheckpointEvery   time.Duration    `toml:"checkpoint_every" default:"60s" doc:"How often a checkpoint of the working copy is made while an agent works. It never takes more than 5 % of the time."`
	MaxBundleBytes    int64            `toml:"max_bundle_bytes" default:"67108864" shown:"67108864 (64 MiB)" doc:"Largest checkpoint that is sent to the orchestrator, in bytes. A larger one stays on this host only, which the workspace shows."`
	MinFree           int64            `toml:"min_free" default:"2147483648" shown:"2147483648 (2 GiB)" doc:"With less free disk space than this, in bytes, the host takes no new runs. 0: no limit."`
	MaxLogBytes       int64            `toml:"max_log_bytes" default:"1073741824" shown:"1073741824 (1 GiB)" doc:"Size at which a run's log stops growing, in bytes."`
}

// Secret is a string that is never printed: fmt and slog show a placeholder.
type Secret string

// String returns a placeholder; empty for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString returns the placeholder for %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText returns the placeholder to encoders, also to slog's.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Addr returns the address to listen on, in the form for net.Listen.
func (s Server) Addr() string { return net.JoinHostPort(s.Bind, strconv.Itoa(s.Port)) }

// PeerAddr returns the address on which the orchestrator listens for other orchestrators, as host:port.
func (s Server) PeerAddr() string {
	if s.ClusterListen != "" {
		return s.ClusterListen
	}
	_, port, _ := net.SplitHostPort(s.ClusterAddress) // Load has checked it
	return net.JoinHostPort("", port)
}

// TLS reports whether the orchestrator itself uses TLS.
func (s Server) TLS() bool { return s.TLSCert != "" }

// ServerURL returns the orchestrator's base URL without a slash at its end: the configured one, otherwise the
// loopback address with the current port of Server.
func (c *Config) ServerURL() string {
	if c.Worker.ServerURL != "" {
		return strings.TrimRight(c.Worker.ServerURL, "/")
	}
	scheme := "http"
	if c.Server.TLS() {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Server.Port))
}

// Origin returns where the value of a setting came from. The name is section and key with a dot, as in
// "server.port". For an unknown name it returns the zero Origin.
func (c *Config) Origin(setting string) Origin { return c.origins[setting] }

// RelayDir returns the folder of the orchestrator's copies of run logs.
func (c *Config) RelayDir() string { return filepath.Join(c.DataDir, "relay") }

// Private returns the folders and files with svc's own secrets and settings, and the platform's default data
// directory. They need not exist.
func (c *Config) Private() []string {
	paths := []string{c.DataDir, c.platform, c.CatalogPath, c.File, c.Worker.Key, c.Server.TLSKey}
	if file, ok := strings.CutPrefix(c.Server.Database, "sqlite:"); ok {
		file, _, _ = strings.Cut(file, "?")
		paths = append(paths, file, file+"-wal", file+"-shm")
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) })
}

// LastGoodCatalog returns the path of a copy of the last valid provider catalog. It is used at a start at which
// the catalog is invalid.
func (c *Config) LastGoodCatalog() string {
	return filepath.Join(c.DataDir, "providers.last-good.toml")
}

// WorkerDir returns the folder of the worker that svc up runs beside its orchestrator. It has the worker's
// runs, spool and identity, separate from the orchestrator's secrets and database.
func (c *Config) WorkerDir() string { return filepath.Join(c.DataDir, "worker") }
