package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/config"
)

// vars is an environment.
type vars map[string]string

func (v vars) get(name string) string { return v[name] }

// sources returns a data directory for the test with the given config.toml, and nothing else.
func sources(t *testing.T, file string) config.Sources {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		write(t, filepath.Join(dir, "config.toml"), file)
	}
	return config.Sources{DataDir: dir, Hostname: func() (string, error) { return "box", nil }}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, src config.Sources) *config.Config {
	t.Helper()
	c, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprintf("%T %#v", got, got) != fmt.Sprintf("%T %#v", want, want) {
		t.Errorf("%s is %#v, want %#v", what, got, want)
	}
}

func TestDefaultsHoldWhenNothingIsSet(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	c := load(t, src)
	equal(t, "data dir", c.DataDir, src.DataDir)
	equal(t, "file", c.File, "")
	equal(t, "catalog_path", c.CatalogPath, filepath.Join(src.DataDir, "providers.toml"))
	equal(t, "server", c.Server, config.Server{Bind: "0.0.0.0", Port: 7898, Database: "sqlite:" + filepath.Join(src.DataDir, "svc.db"), LeaseIdle: 10 * time.Minute})
	equal(t, "runs", c.Runs, config.Runs{DispatchTimeout: 5 * time.Minute, AckTimeout: 15 * time.Second})
	equal(t, "hosts", c.Hosts, config.Hosts{OfflineAfter: 90 * time.Second})
	equal(t, "work_items", c.WorkItems, config.WorkItems{})
	equal(t, "events", c.Events, config.Events{OutputInterval: 5 * time.Second})
	equal(t, "retention", c.Retention, config.Retention{EventsDays: 30, RelayMaxBytes: 2 << 30, RelayHostMaxBytes: 64 << 30, RelayMinFree: 256 << 20, RelayDays: 30})
	equal(t, "gateway", c.Gateway, config.Gateway{})
	equal(t, "worker", c.Worker, config.Worker{
		HostName: "box", HeartbeatInterval: 30 * time.Second,
		StopGrace: [2]time.Duration{5 * time.Second, 10 * time.Second}, Reap: true, LogDays: 90, Scopes: "auto", Contain: "off", MaxLogBytes: 1 << 30,
		CheckpointEvery: time.Minute, MaxBundleBytes: 64 << 20, MinFree: 2 << 30,
	})
	equal(t, "origin", c.Origin("server.port"), config.Origin{Place: config.FromDefault})
}

func TestEveryKeyOfTheFileIsRead(t *testing.T) {
	t.Parallel()
	c := load(t, sources(t, `
catalog_path = "/etc/svc/catalog.toml"
[server]
bind = "::1"
port = 0
tls_cert = "/c.pem"
tls_key = "/k.pem"
allowed_origins = ["https://A.example:443", "http://b.example:8080"]
database = "postgres://u:p@db/svc"
lease_idle = "3m"
[runs]
dispatch_timeout = "1m"
lost_after = "1h"
ack_timeout = "2s"
[hosts]
offline_after = "3s"
[work_items]
auto_mark_done = true
[events]
output_interval = "100ms"
[retention]
events_days = 0
relay_days = 7
relay_max_bytes = 5
relay_host_max_bytes = 8
relay_min_free = 6
[gateway]
url = "https://gw.example/"
api_key = "k"
[worker]
server_url = "https://svc.example/base/"
host_name = "w1"
cwd = "/src"
heartbeat_interval = "1s"
stop_grace = ["1s", "2s"]
reap = false
max_log_bytes = 5
log_days = 7
scopes = "off"
contain = "bwrap"
run_memory_max = "4G"
run_tasks_max = 100
checkpoint_every = "5s"
max_bundle_bytes = 8
min_free = 9
`))
	equal(t, "catalog_path", c.CatalogPath, "/etc/svc/catalog.toml")
	equal(t, "server", c.Server, config.Server{
		Bind: "::1", Port: 0, TLSCert: "/c.pem", TLSKey: "/k.pem",
		AllowedOrigins: []string{"https://a.example", "http://b.example:8080"}, Database: "postgres://u:p@db/svc", LeaseIdle: 3 * time.Minute,
	})
	equal(t, "runs", c.Runs, config.Runs{DispatchTimeout: time.Minute, LostAfter: time.Hour, AckTimeout: 2 * time.Second})
	equal(t, "hosts", c.Hosts, config.Hosts{OfflineAfter: 3 * time.Second})
	equal(t, "work_items", c.WorkItems, config.WorkItems{AutoMarkDone: true})
	equal(t, "events", c.Events, config.Events{OutputInterval: 100 * time.Millisecond})
	equal(t, "retention", c.Retention, config.Retention{EventsDays: 0, RelayMaxBytes: 5, RelayHostMaxBytes: 8, RelayMinFree: 6, RelayDays: 7})
	equal(t, "gateway url", c.Gateway.URL, "https://gw.example")
	equal(t, "gateway key", string(c.Gateway.APIKey), "k")
	equal(t, "worker", c.Worker, config.Worker{
		ServerURL: "https://svc.example/base", HostName: "w1", Cwd: "/src", HeartbeatInterval: time.Second,
		StopGrace: [2]time.Duration{time.Second, 2 * time.Second}, LogDays: 7, MaxLogBytes: 5,
		Scopes: "off", Contain: "bwrap", RunMemoryMax: "4G", RunTasksMax: 100,
		CheckpointEvery: 5 * time.Second, MaxBundleBytes: 8, MinFree: 9,
	})
}

func TestAFlagBeatsTheFileWhichBeatsTheEnvironmentWhichBeatsTheDefault(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		setting, env, section, key      string
		flag, file, variable, byDefault string
		read                            func(*config.Config) string
	}{
		{"server.bind", "SVC_BIND", "server", "bind", "1.1.1.1", `"2.2.2.2"`, "3.3.3.3", "0.0.0.0", func(c *config.Config) string { return c.Server.Bind }},
		{"server.port", "SVC_PORT", "server", "port", "1", "2", "3", "7898", func(c *config.Config) string { return fmt.Sprint(c.Server.Port) }},
		{"server.database", "SVC_DATABASE", "server", "database", "sqlite:1", `"sqlite:2"`, "sqlite:3", "", func(c *config.Config) string { return c.Server.Database }},
		{"worker.server_url", "SVC_API_URL", "worker", "server_url", "http://a", `"http://b"`, "http://c", "http://127.0.0.1:7898", (*config.Config).ServerURL},
		{"gateway.url", "SVC_GATEWAY_URL", "gateway", "url", "http://a", `"http://b"`, "http://c", "", func(c *config.Config) string { return c.Gateway.URL }},
		{"gateway.api_key", "SVC_GATEWAY_API_KEY", "gateway", "api_key", "a", `"b"`, "c", "", func(c *config.Config) string { return string(c.Gateway.APIKey) }},
	} {
		t.Run(s.setting, func(t *testing.T) {
			t.Parallel()
			src := sources(t, "["+s.section+"]\n"+s.key+" = "+s.file+"\n")
			path := filepath.Join(src.DataDir, "config.toml")
			src.Env = vars{s.env: s.variable}.get
			src.Flags = map[string]config.Flag{s.setting: {Name: "--x", Value: s.flag}}

			c := load(t, src)
			equal(t, "value with a flag", s.read(c), s.flag)
			equal(t, "origin", c.Origin(s.setting), config.Origin{Place: config.FromFlag, Name: "--x"})

			src.Flags = nil
			c = load(t, src)
			equal(t, "value with a file", s.read(c), strings.Trim(s.file, `"`))
			equal(t, "origin", c.Origin(s.setting), config.Origin{Place: config.FromFile, Name: path, Line: 2})

			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			c = load(t, src)
			equal(t, "value with a variable", s.read(c), s.variable)
			equal(t, "origin", c.Origin(s.setting), config.Origin{Place: config.FromEnv, Name: s.env})

			src.Env = vars{s.env: ""}.get
			if s.byDefault == "" && s.setting == "server.database" {
				s.byDefault = "sqlite:" + filepath.Join(src.DataDir, "svc.db")
			}
			equal(t, "value by default", s.read(load(t, src)), s.byDefault)
		})
	}
}

func TestSettingsWithoutAVariableTakeFlagsAsText(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	src.Flags = map[string]config.Flag{
		"worker.reap":            {Name: "--reap", Value: "false"},
		"worker.stop_grace":      {Name: "--stop-grace", Value: "1s, 2s"},
		"server.allowed_origins": {Name: "--origin", Value: "http://a,http://b"},
		"runs.lost_after":        {Name: "--lost-after", Value: "off"},
		"worker.max_log_bytes":   {Name: "--max-log", Value: "10"},
	}
	c := load(t, src)
	equal(t, "reap", c.Worker.Reap, false)
	equal(t, "stop_grace", c.Worker.StopGrace, [2]time.Duration{time.Second, 2 * time.Second})
	equal(t, "origins", c.Server.AllowedOrigins, []string{"http://a", "http://b"})
	equal(t, "lost_after", c.Runs.LostAfter, time.Duration(0))
	equal(t, "max_log_bytes", c.Worker.MaxLogBytes, int64(10))
}

func TestAFlagForNoSettingIsAnError(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	src.Flags = map[string]config.Flag{"server.prot": {Name: "--port", Value: "1"}}
	_, err := config.Load(src)
	wantMentions(t, err, "server.prot", "--port", "does not exist")
}

func TestTheConfigFileMayBeElsewhereButMustThenExist(t *testing.T) {
	t.Parallel()
	src := sources(t, "[server]\nport = 1\n")
	other := filepath.Join(t.TempDir(), "other.toml")
	third := filepath.Join(t.TempDir(), "third.toml")
	write(t, other, "[server]\nport = 2\n")
	write(t, third, "[server]\nport = 3\n")

	equal(t, "port without SVC_CONFIG", load(t, src).Server.Port, 1)
	src.Env = vars{"SVC_CONFIG": other}.get
	c := load(t, src)
	equal(t, "port with SVC_CONFIG", c.Server.Port, 2)
	equal(t, "file", c.File, other)
	src.ConfigFile = third
	equal(t, "port with the flag", load(t, src).Server.Port, 3)

	src.ConfigFile = third + ".missing"
	_, err := config.Load(src)
	wantMentions(t, err, third+".missing")
	src.ConfigFile = ""
	src.Env = vars{"SVC_CONFIG": other + ".missing"}.get
	_, err = config.Load(src)
	wantMentions(t, err, other+".missing", "SVC_CONFIG")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not wrap os.ErrNotExist", err)
	}
}

func TestAConfigFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	path := filepath.Join(src.DataDir, "config.toml")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(src)
	wantMentions(t, err, path)

	src = sources(t, "# "+strings.Repeat("x", 64<<10)+"\n")
	_, err = config.Load(src)
	wantMentions(t, err, src.DataDir, "larger than")
}

func TestTheServerURLFollowsPortAndTLS(t *testing.T) {
	t.Parallel()
	c := load(t, sources(t, "[server]\nport = 81\n"))
	equal(t, "plain", c.ServerURL(), "http://127.0.0.1:81")
	c = load(t, sources(t, "[server]\nport = 82\ntls_cert = \"/c\"\ntls_key = \"/k\"\n"))
	equal(t, "with TLS", c.ServerURL(), "https://127.0.0.1:82")
	c.Server.Port = 83
	equal(t, "after the port was found", c.ServerURL(), "https://127.0.0.1:83")
	c = load(t, sources(t, "[worker]\nserver_url = \"http://h:1/\"\n"))
	equal(t, "set", c.ServerURL(), "http://h:1")
}

func TestPathsAndAddresses(t *testing.T) {
	t.Parallel()
	src := sources(t, "catalog_path = \"~/c.toml\"\n[worker]\ncwd = \"~/src\"\n[server]\nbind = \"::1\"\n")
	src.Env = vars{"HOME": "/home/u"}.get
	c := load(t, src)
	equal(t, "catalog_path", c.CatalogPath, "/home/u/c.toml")
	equal(t, "cwd", c.Worker.Cwd, "/home/u/src")
	equal(t, "addr", c.Server.Addr(), "[::1]:7898")
	equal(t, "relay", c.RelayDir(), filepath.Join(c.DataDir, "relay"))
	equal(t, "worker", c.WorkerDir(), filepath.Join(c.DataDir, "worker"))
}

func TestAMachineWithoutANameHasNoHostName(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	src.Hostname = func() (string, error) { return "", errors.New("no name") }
	equal(t, "host_name", load(t, src).Worker.HostName, "")
	src.Hostname = nil
	equal(t, "host_name", load(t, src).Worker.HostName, "")
}

func TestASecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	c := load(t, sources(t, "[gateway]\napi_key = \"hunter2\"\n"))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format, c.Gateway); strings.Contains(text, "hunter2") {
			t.Errorf("%s prints the key: %s", format, text)
		}
	}
	text, err := c.Gateway.APIKey.MarshalText()
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("MarshalText gives %s, %v", text, err)
	}
}

func TestTheProcessIsASourceOfItsOwn(t *testing.T) {
	t.Setenv("SVC_PORT", "4321") // not parallel: it changes the process's environment
	src := config.OS()
	src.DataDir = t.TempDir()
	equal(t, "port", load(t, src).Server.Port, 4321)
}

// wantMentions fails unless the error contains all of the parts.
func wantMentions(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that mentions %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the error %q does not mention %q", err, p)
		}
	}
}
