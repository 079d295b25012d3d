package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxDays is the longest retention, so that it fits into a time.Duration.
const maxDays = 36500

const notPort = "is not a port: 0 to 65535"

// check checks c's value of one setting. The error is a complaint that continues a sentence after the value.
// Types and the sign of durations are checked by the decoder, but durations are checked again, since a Config
// may be changed in code.
func (c *Config) check(setting string) error {
	switch setting {
	case "server.bind":
		return checkBind(c.Server.Bind)
	case "server.port":
		return within(int64(c.Server.Port), 0, 65535, notPort)
	case "server.tls_cert":
		return together(c.Server.TLSCert, c.Server.TLSKey, "server.tls_key")
	case "server.tls_key":
		return together(c.Server.TLSKey, c.Server.TLSCert, "server.tls_cert")
	case "server.worker_ca":
		return together(c.Server.WorkerCA, c.Server.TLSCert, "server.tls_cert")
	case "worker.cert":
		return together(c.Worker.Cert, c.Worker.Key, "worker.key")
	case "worker.key":
		return together(c.Worker.Key, c.Worker.Cert, "worker.cert")
	case "server.allowed_origins":
		return checkOrigins(c.Server.AllowedOrigins)
	case "server.database":
		return checkDatabase(c.Server.Database)
	case "server.public_url":
		return checkServerURL(c.Server.PublicURL)
	case "server.cluster_address":
		return c.checkCluster()
	case "server.cluster_listen":
		if c.Server.ClusterListen != "" && c.Server.ClusterAddress == "" {
			return errors.New("needs server.cluster_address")
		}
		return checkHostPort(c.Server.ClusterListen, true)
	case "server.lease_idle":
		return within(int64(c.Server.LeaseIdle), 0, 1<<63-1, "is negative")
	case "runs.lost_after":
		return within(int64(c.Runs.LostAfter), 0, 1<<63-1, "is negative")
	case "runs.dispatch_timeout":
		return positive(int64(c.Runs.DispatchTimeout))
	case "runs.ack_timeout":
		return positive(int64(c.Runs.AckTimeout))
	case "hosts.offline_after":
		return positive(int64(c.Hosts.OfflineAfter))
	case "events.output_interval":
		return positive(int64(c.Events.OutputInterval))
	case "retention.events_days":
		return checkDays(c.Retention.EventsDays)
	case "retention.relay_days":
		return checkDays(c.Retention.RelayDays)
	case "retention.relay_max_bytes":
		return positive(c.Retention.RelayMaxBytes)
	case "retention.relay_host_max_bytes":
		return within(c.Retention.RelayHostMaxBytes, 0, 1<<63-1, "is negative")
	case "retention.relay_min_free":
		return within(c.Retention.RelayMinFree, 0, 1<<63-1, "is negative")
	case "gateway.url":
		return checkGateway(c.Gateway.URL)
	case "worker.host_name":
		// Empty is the default on a machine without a name; only the worker needs a name, and reports that.
		return checkOneLine(c.Worker.HostName)
	case "gateway.api_key":
		return checkOneLine(string(c.Gateway.APIKey))
	case "worker.server_url":
		return checkServerURL(c.Worker.ServerURL)
	case "worker.heartbeat_interval":
		return positive(int64(c.Worker.HeartbeatInterval))
	case "worker.stop_grace":
		return errors.Join(positive(int64(c.Worker.StopGrace[0])), positive(int64(c.Worker.StopGrace[1])))
	case "worker.contain":
		return oneOf(c.Worker.Contain, "off", "bwrap")
	case "worker.scopes":
		return oneOf(c.Worker.Scopes, "auto", "off")
	case "worker.run_memory_max":
		return checkMemory(c.Worker.RunMemoryMax)
	case "worker.run_tasks_max":
		return within(int64(c.Worker.RunTasksMax), 0, 1<<31-1, "is not a number of processes")
	case "worker.metrics":
		return checkLoopback(c.Worker.Metrics)
	case "worker.checkpoint_every":
		return positive(int64(c.Worker.CheckpointEvery))
	case "worker.max_bundle_bytes":
		return positive(c.Worker.MaxBundleBytes)
	case "worker.min_free":
		return within(c.Worker.MinFree, 0, 1<<63-1, "is negative")
	case "worker.max_log_bytes":
		return positive(c.Worker.MaxLogBytes)
	}
	return nil
}

// mustNotBeEmpty reports whether an empty text is a mistake for this setting, and does not mean "off".
func mustNotBeEmpty(setting string) bool {
	return slices.Contains([]string{
		"catalog_path", "server.bind", "server.database", "worker.host_name", "worker.server_url",
	}, setting)
}

func within(n, low, high int64, complaint string) error {
	if n < low || n > high {
		return errors.New(complaint)
	}
	return nil
}

func positive(n int64) error { return within(n, 1, 1<<63-1, "is not greater than zero") }

func oneOf(text string, choices ...string) error {
	if !slices.Contains(choices, text) {
		return errors.New("is not one of " + strings.Join(choices, ", "))
	}
	return nil
}

// checkLoopback accepts only an address that no other machine can reach: the server there requires no token.
func checkLoopback(address string) error {
	if address == "" {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return errors.New("is not an address such as 127.0.0.1:9798")
	case !at.Addr().IsLoopback():
		return errors.New("is not a loopback address, and clients of it need no token")
	}
	return nil
}

var memory = regexp.MustCompile(`^([1-9][0-9]{0,17}[KMGT]?|([1-9][0-9]?|100)%)$`)

// checkMemory accepts the syntax of systemd. Empty means no limit.
func checkMemory(text string) error {
	if text != "" && !memory.MatchString(text) {
		return errors.New("is not an amount of memory such as 4G, 512M or 25%")
	}
	return nil
}

func checkDays(n int) error {
	return within(int64(n), 0, maxDays, fmt.Sprintf("is not a number of days: 0 to %d", maxDays))
}

func together(this, other, otherName string) error {
	if this != "" && other == "" {
		return errors.New("needs " + otherName + " beside it")
	}
	return nil
}

func checkBind(bind string) error {
	if _, err := netip.ParseAddr(bind); err == nil || isHostName(bind) {
		return nil
	}
	return errors.New(`is not an address to listen on, such as "127.0.0.1", "::1" or "localhost" (the port is a setting of its own)`)
}

// isHostName accepts DNS names, except those with a number as the last label: that is a mistyped IP address.
func isHostName(name string) bool {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.ContainsFunc(l, notBare) || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(name) <= 253 && strings.Trim(last, "0123456789") != ""
}

func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || !isWeb(u) || o != u.Scheme+"://"+u.Host {
			return fmt.Errorf("is not a list of origins: %s is not scheme://host or scheme://host:port", display(o))
		}
	}
	return nil
}

// isWeb reports whether the URL is http or https with a host and, if any, a real port.
func isWeb(u *url.URL) bool {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && !isHostName(u.Hostname()) {
		return false
	}
	return u.Port() == "" || portInURL(u.Port())
}

func portInURL(port string) bool {
	_, err := netip.ParseAddrPort("0.0.0.0:" + port)
	return err == nil && strings.Trim(port, "0") != ""
}

func checkServerURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || !isWeb(u) || u.User != nil || strings.ContainsAny(text, "?#") {
		return errors.New("is not an http or https URL such as http://127.0.0.1:7898")
	}
	return nil
}

func checkGateway(text string) error {
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err != nil || !isWeb(u) {
		return errors.New("is not an http or https URL")
	}
	return nil
}

func checkOneLine(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("has line breaks or control characters")
	}
	return nil
}

func checkDatabase(text string) error {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New("is not a database: write sqlite:PATH or postgres://…")
	}
	switch scheme {
	case "sqlite":
		if rest == "" {
			return errors.New("has no file: write sqlite:PATH")
		}
		return nil
	case "postgres", "postgresql":
		if _, err := url.Parse(text); err != nil || !strings.HasPrefix(rest, "//") {
			return errors.New("is not a URL of the form postgres://user:password@host:port/name")
		}
		return nil
	}
	return errors.New("has a scheme that is not known: write sqlite:PATH or postgres://…")
}

// checkCluster checks the address at which other orchestrators reach this one.
func (c *Config) checkCluster() error {
	if c.Server.ClusterAddress != "" && strings.HasPrefix(c.Server.Database, "sqlite:") {
		return errors.New("needs PostgreSQL as server.database: only one orchestrator can use an SQLite file")
	}
	return checkHostPort(c.Server.ClusterAddress, false)
}

// checkHostPort checks host:port; empty means none. anywhere allows an empty host, which means every address of
// the machine.
func checkHostPort(s string, anywhere bool) error {
	if s == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 1 || n > 65535 || host == "" && !anywhere {
		return errors.New("is not host:port")
	}
	return nil
}
