package config_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/config"
)

func TestWhatTheFileMayNotHoldIsAnErrorWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"unknown key":                     {"[server]\n\nprot = 1\n", []string{"line 3", "server.prot", "unknown key", "port"}},
		"unknown key at the top":          {"\nport = 1\n", []string{"line 2", "port: unknown key", "catalog_path"}},
		"unknown section":                 {"[server]\nport = 1\n[sever]\nport = 2\n", []string{"line 3", "sever: unknown section", "[server]"}},
		"unknown empty section":           {"[sever]\n", []string{"line 1", "sever: unknown section"}},
		"unknown section in two places":   {"[sever]\n[server]\n[sever.x]\n", []string{"line 1", "sever: unknown section"}},
		"off for what cannot be off":      {"[runs]\nack_timeout = \"off\"\n", []string{"line 2", `runs.ack_timeout: "off" is not a duration`}},
		"section in a section":            {"[server]\n[server.tls]\ncert = 1\n", []string{"line 2", "server.tls: unknown key"}},
		"unknown key, dotted":             {"\n\nserver.prot = 1\n", []string{"line 3", "server.prot"}},
		"unknown key, inline":             {"server = { port = 1, prot = 2 }\n", []string{"line 1", "server.prot"}},
		"other case":                      {"[server]\nPort = 1\n", []string{"line 2", "server.Port: unknown key"}},
		"section in another case":         {"[Server]\nport = 1\n", []string{"line 1", "Server: unknown section"}},
		"key that needs quotes":           {"[server]\n\"a b\" = 1\n", []string{"line 2", `server."a b"`}},
		"section that is a value":         {"\nserver = 1\n", []string{"line 2", "server: must be a section"}},
		"section that is a list":          {"[[server]]\nport = 1\n", []string{"line 1", "server: must be a section"}},
		"setting that is a section":       {"[catalog_path]\n", []string{"line 1", "catalog_path: a table is not a string"}},
		"string for a number":             {"[server]\nport = \"80\"\n", []string{"line 2", `server.port: "80" is not a port`}},
		"fraction for a number":           {"[retention]\nevents_days = 1.5\n", []string{"line 2", "retention.events_days: 1.5 is not a whole number"}},
		"number for a string":             {"[server]\nbind = 1\n", []string{"line 2", "server.bind: 1 is not a string"}},
		"number for a boolean":            {"[worker]\nreap = 1\n", []string{"line 2", "worker.reap: 1 is not true or false"}},
		"number for a duration":           {"[runs]\nack_timeout = 15\n", []string{"line 2", "runs.ack_timeout: 15 is not a duration"}},
		"bad duration":                    {"[runs]\nack_timeout = \"15 s\"\n", []string{"line 2", `runs.ack_timeout: "15 s" is not a duration`}},
		"string for a list":               {"[server]\nallowed_origins = \"http://a\"\n", []string{"line 2", `server.allowed_origins: "http://a" is not a list`}},
		"list of other things":            {"[server]\nallowed_origins = [\"http://a\", 2]\n", []string{"line 2", "server.allowed_origins", "not a list of strings"}},
		"value on a later line":           {"[worker]\nstop_grace = [\n  \"5s\",\n  \"x\",\n]\n", []string{"line 2", "worker.stop_grace", `"x" is not a duration`}},
		"no TOML":                         {"[server]\nport = = 1\n", []string{"line 2", "not TOML"}},
		"key that is there twice":         {"[server]\nport = 1\nport = 2\n", []string{"line 3", "not TOML", "port"}},
		"broken text":                     {"catalog_path = \"\xff\"\n", []string{"line 1", "not TOML"}},
		"a sink without its address":      {"[[notify]]\nname = \"a\"\nkind = \"ntfy\"\n", []string{"line 1", "notify[1].url: is missing"}},
		"a sink of another kind":          {"[[notify]]\nname = \"a\"\nurl = \"http://a\"\nkind = \"mail\"\n", []string{"line 4", `notify[1].kind: "mail" is not one of webhook, ntfy, slack`}},
		"a sink with a wrong address":     {"[[notify]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"ftp://secret\"\n", []string{"line 4", "notify[1].url: is not an http or https URL"}},
		"a sink for unknown entries":      {"[[notify]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"http://a\"\non = [\"failed\", \"fun\"]\n", []string{"line 5", `notify[1].on`, `has "fun", which is not one of needs_input, failed`}},
		"a sink with an unknown key":      {"[[notify]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"http://a\"\n[[notify]]\nname = \"b\"\nkind = \"ntfy\"\nurl = \"http://a\"\nretries = 3\n", []string{"line 9", "notify[2].retries: unknown key; [[notify]] has name, kind, url"}},
		"two sinks of one name":           {"[[notify]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"http://a\"\n[[notify]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"http://b\"\n", []string{"line 6", `notify[2].name: "a" is the name of another sink`}},
		"a sink that is no list":          {"[notify]\nname = \"a\"\n", []string{"line 1", "notify: must be a list of sections, each written [[notify]]"}},
		"a sink inline, with a bad dwell": {"\nnotify = [{name = \"a\", kind = \"ntfy\", url = \"http://a\", dwell = 5}]\n", []string{"line 2", "notify[1].dwell: 5 is not a duration"}},
		"empty where something is needed": {"catalog_path = \"\"\n", []string{"line 1", `catalog_path: "" is empty`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := sources(t, test.file)
			_, err := config.Load(src)
			wantMentions(t, err, append(test.want, filepath.Join(src.DataDir, "config.toml"))...)
		})
	}
}

func TestAllProblemsAreToldAtOnceFromTopToBottom(t *testing.T) {
	t.Parallel()
	src := sources(t, `[server]
prot = 1
port = 70000
bind = 7
[sever]
[runs]
ack_timeout = "0s"
`)
	src.Env = vars{"SVC_GATEWAY_URL": "ftp://x"}.get
	_, err := config.Load(src)
	ps, ok := err.(config.Problems)
	if !ok {
		t.Fatalf("the error is %T, want config.Problems", err)
	}
	var got []string
	for _, p := range ps {
		got = append(got, p.Setting)
	}
	want := "server.prot server.port server.bind sever runs.ack_timeout gateway.url"
	equal(t, "problems", strings.Join(got, " "), want)
	equal(t, "lines of the message", strings.Count(err.Error(), "\n"), len(ps))
}

func TestSecretsStayOutOfMessages(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"[gateway]\napi_key = \"hunter2\" x\n",
		"[gateway]\napi_key = \"hunter2\\n\"\n",
		"[gateway]\napi_key = [\"hunter2\"]\n",
		"[gateway]\napi_key = \"hunter2\"\nurl = = 1\n",
		"[gateway]\nurl = \"ftp://u:hunter2@h\"\n",
		"[server]\ndatabase = \"mysql://u:hunter2@h\"\n",
		"[worker]\nserver_url = \"http://u:hunter2@h\"\n",
	} {
		_, err := config.Load(sources(t, file))
		if err == nil {
			t.Errorf("%q was accepted", file)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the message holds the secret: %v", file, err)
		}
	}
}

func TestTheMessageNamesTheVariableOrFlagOfAValue(t *testing.T) {
	t.Parallel()
	src := sources(t, "")
	src.Env = vars{"SVC_PORT": "abc"}.get
	_, err := config.Load(src)
	wantMentions(t, err, `server.port: "abc" from SVC_PORT is not a port`)

	src.Env = vars{"SVC_PORT": "65536"}.get
	_, err = config.Load(src)
	wantMentions(t, err, `server.port: 65536 from SVC_PORT is not a port`)

	src.Flags = map[string]config.Flag{"server.port": {Name: "--port", Value: "x"}}
	_, err = config.Load(src)
	wantMentions(t, err, `server.port: "x" from --port is not a port`)

	src.Flags = nil
	src.Env = vars{"SVC_DATABASE": "mysql://h"}.get
	_, err = config.Load(src)
	wantMentions(t, err, "server.database: the value from SVC_DATABASE has a scheme")
}

func TestSinksAreReadInTheOrderOfTheFileAndTheirSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	c, err := config.Load(sources(t, `[[notify]]
name = "phone"
kind = "ntfy"
url = "http://10.0.0.1/topic"
secret = "tk_hidden"
[[notify]]
name = "hook"
kind = "webhook"
url = "https://a/b?token=hidden"
on = ["failed", "host"]
dwell = "1m"
projects = ["web"]
`))
	if err != nil {
		t.Fatal(err)
	}
	phone, hook := c.Notify[0].Sink(), c.Notify[1].Sink()
	if phone.Name != "phone" || phone.Secret != "tk_hidden" || phone.Dwell != svc.DefaultDwell || len(phone.On) != 0 {
		t.Errorf("the first sink is %+v", phone)
	}
	if hook.Kind != svc.SinkWebhook || hook.Dwell != time.Minute || !slices.Equal(hook.On, []svc.InboxKind{svc.InboxFailed, svc.InboxHost}) || !slices.Equal(hook.Projects, []string{"web"}) {
		t.Errorf("the second sink is %+v", hook)
	}
	if shown := fmt.Sprintf("%+v %#v", c.Notify, c.Notify); strings.Contains(shown, "tk_hidden") {
		t.Errorf("a secret is shown: %s", shown)
	}
	_, err = config.Load(sources(t, "[[notify]]\nname = \"a\"\nkind = \"slack\"\nurl = \"hidden\"\n"))
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a wrong address is reported as %v", err)
	}
}
