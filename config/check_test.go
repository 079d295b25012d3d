package config_test

import (
	"testing"
	"time"

	"svc/config"
)

func TestValuesAreChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		section, key string
		good, bad    []string
	}{
		{"server", "port", []string{"0", "1", "65535"}, []string{"-1", "65536", "4294967376"}},
		{"server", "bind", []string{`"127.0.0.1"`, `"::"`, `"fe80::1%eth0"`, `"localhost"`, `"host.example"`},
			[]string{`""`, `"127.0.0.1:80"`, `"[::1]"`, `"1.2.3"`, `"1.2.3.256"`, `"a b"`, `"http://x"`, `"a..b"`, `"-a"`}},
		{"server", "allowed_origins", []string{`[]`, `["http://a"]`, `["https://a.b:8443", "http://[::1]:1"]`},
			[]string{`["a"]`, `["*"]`, `["null"]`, `["http://a/"]`, `["http://a/b"]`, `["http://u@a"]`, `["ftp://a"]`, `["http://a:"]`, `["http://a:70000"]`, `["http://a:0"]`, `["http://a?b"]`, `["http://*.a"]`, `[""]`}},
		{"server", "database", []string{`"sqlite:/x/svc.db"`, `"postgres://u:p@h:5432/d?sslmode=disable"`, `"postgresql://h/d"`, `"postgres:///d?host=/run/pg"`},
			[]string{`""`, `"svc.db"`, `"sqlite:"`, `"mysql://h/d"`, `"postgres:h"`, `"postgres:/d"`, `"postgres://h:x/d"`}},
		{"runs", "dispatch_timeout", []string{`"1ms"`}, []string{`"0s"`, `"-5m"`, `"5"`, `""`, `"off"`}},
		{"runs", "ack_timeout", []string{`"1s"`}, []string{`"0s"`, `"-1s"`}},
		{"runs", "lost_after", []string{`"off"`, `"10m"`}, []string{`"0s"`, `"-1s"`, `"never"`, `false`}},
		{"hosts", "offline_after", []string{`"1s"`}, []string{`"0s"`, `"-1s"`}},
		{"events", "output_interval", []string{`"1s"`}, []string{`"0s"`, `"-1s"`}},
		{"retention", "events_days", []string{"0", "36500"}, []string{"-1", "36501"}},
		{"retention", "relay_days", []string{"0", "36500"}, []string{"-1", "36501"}},
		{"gateway", "url", []string{`""`, `"http://gw:1/x/"`, `"https://u:p@gw"`}, []string{`"gw:80"`, `"ftp://gw"`, `"http://"`, `"/"`}},
		{"gateway", "api_key", []string{`""`, `"sk-1 2"`}, []string{`"a\nb"`, `"\u0000"`}},
		{"worker", "server_url", []string{`"http://h"`, `"https://h:1/base"`, `"http://[::1]:1"`},
			[]string{`""`, `"/"`, `"h:1"`, `"ws://h"`, `"http://"`, `"http://u:p@h"`, `"http://h?a=b"`, `"http://h#f"`, `"http://h:0"`, `"http://h:99999"`, `"http://h:"`}},
		{"worker", "host_name", []string{`"w 1"`}, []string{`""`, `"a\nb"`}},
		{"worker", "heartbeat_interval", []string{`"1s"`}, []string{`"0s"`, `"-1s"`}},
		{"worker", "stop_grace", []string{`["1s", "2s"]`}, []string{`[]`, `["1s"]`, `["1s", "2s", "3s"]`, `["0s", "1s"]`, `["1s", "-1s"]`, `[1, 2]`, `"5s"`}},
		{"worker", "contain", []string{`"off"`, `"bwrap"`}, []string{`"on"`, `""`, "true"}},
		{"worker", "scopes", []string{`"auto"`, `"off"`}, []string{`"on"`, `"Auto"`, "true"}},
		{"worker", "metrics", []string{`""`, `"127.0.0.1:9798"`, `"127.0.0.1:0"`, `"[::1]:9798"`}, []string{`"0.0.0.0:9798"`, `":9798"`, `"127.0.0.1"`, `"10.0.0.1:1"`, `"127.0.0.1:99999"`}},
		{"worker", "run_memory_max", []string{`""`, `"1"`, `"512M"`, `"4G"`, `"25%"`, `"100%"`}, []string{`"0"`, `"4GB"`, `"101%"`, `"-1"`, `"4 G"`, "4"}},
		{"worker", "run_tasks_max", []string{"0", "1", "100000"}, []string{"-1", `"9"`}},
		{"worker", "checkpoint_every", []string{`"1s"`, `"1h"`}, []string{`"0s"`, `"-1s"`, "60"}},
		{"worker", "max_bundle_bytes", []string{"1", "9223372036854775807"}, []string{"0", "-1", `"1GiB"`}},
		{"worker", "min_free", []string{"0", "1"}, []string{"-1", `"1GiB"`}},
		{"worker", "max_log_bytes", []string{"1", "9223372036854775807"}, []string{"0", "-1", `"1GiB"`}},
	} {
		t.Run(test.section+"."+test.key, func(t *testing.T) {
			t.Parallel()
			for _, value := range test.good {
				if _, err := config.Load(sources(t, "["+test.section+"]\n"+test.key+" = "+value+"\n")); err != nil {
					t.Errorf("%s is refused: %v", value, err)
				}
			}
			for _, value := range test.bad {
				_, err := config.Load(sources(t, "["+test.section+"]\n"+test.key+" = "+value+"\n"))
				if err == nil {
					t.Errorf("%s is accepted", value)
					continue
				}
				wantMentions(t, err, "line 2", test.section+"."+test.key)
			}
		})
	}
}

func TestCertificateAndKeyComeTogether(t *testing.T) {
	t.Parallel()
	_, err := config.Load(sources(t, "[server]\ntls_cert = \"/c\"\n"))
	wantMentions(t, err, "line 2", "server.tls_cert", "needs server.tls_key")
	_, err = config.Load(sources(t, "[server]\ntls_key = \"/k\"\n"))
	wantMentions(t, err, "line 2", "server.tls_key", "needs server.tls_cert")
	c := load(t, sources(t, "[server]\ntls_key = \"/k\"\ntls_cert = \"/c\"\n"))
	equal(t, "TLS", c.Server.TLS(), true)
}

func TestAConfigThatWasChangedIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"server.port":               func(c *config.Config) { c.Server.Port = 70000 },
		"runs.dispatch_timeout":     func(c *config.Config) { c.Runs.DispatchTimeout = 0 },
		"runs.lost_after":           func(c *config.Config) { c.Runs.LostAfter = -1 },
		"runs.ack_timeout":          func(c *config.Config) { c.Runs.AckTimeout = -1 },
		"hosts.offline_after":       func(c *config.Config) { c.Hosts.OfflineAfter = 0 },
		"events.output_interval":    func(c *config.Config) { c.Events.OutputInterval = 0 },
		"worker.heartbeat_interval": func(c *config.Config) { c.Worker.HeartbeatInterval = 0 },
		"worker.stop_grace":         func(c *config.Config) { c.Worker.StopGrace = [2]time.Duration{time.Second, 0} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load(t, sources(t, ""))
			if err := c.Validate(); err != nil {
				t.Fatalf("as loaded: %v", err)
			}
			change(c)
			wantMentions(t, c.Validate(), name)
		})
	}
}
