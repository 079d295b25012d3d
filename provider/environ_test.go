package provider_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/config"
	"svc/provider"
)

// environ returns the environment as a map.
func environ(e provider.Entry, s provider.Session) map[string]string {
	env := map[string]string{}
	for _, kv := range e.Environ(s) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

func TestTheGatewayComesFromTheFileThenFromTheEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file config.Gateway
		env  map[string]string
		want provider.Gateway
		v1   string
	}{
		{"nothing", config.Gateway{}, nil, provider.Gateway{}, ""},
		{"the file", config.Gateway{URL: "http://f", APIKey: "fk"}, nil, provider.Gateway{URL: "http://f", APIKey: "fk"}, "http://f/v1"},
		{"the environment", config.Gateway{}, map[string]string{"SVC_GATEWAY_URL": "http://e", "SVC_GATEWAY_API_KEY": "ek"}, provider.Gateway{URL: "http://e", APIKey: "ek"}, "http://e/v1"},
		{"the file beats the environment", config.Gateway{URL: "http://f", APIKey: "fk"}, map[string]string{"SVC_GATEWAY_URL": "http://e", "SVC_GATEWAY_API_KEY": "ek"}, provider.Gateway{URL: "http://f", APIKey: "fk"}, "http://f/v1"},
		{"each for itself", config.Gateway{URL: "http://f"}, map[string]string{"SVC_GATEWAY_API_KEY": "ek"}, provider.Gateway{URL: "http://f", APIKey: "ek"}, "http://f/v1"},
		{"slashes at the end go", config.Gateway{URL: "http://f/base//"}, nil, provider.Gateway{URL: "http://f/base"}, "http://f/base/v1"},
		{"slashes of a variable too", config.Gateway{}, map[string]string{"SVC_GATEWAY_URL": "http://e/"}, provider.Gateway{URL: "http://e"}, "http://e/v1"},
		{"an empty variable is unset", config.Gateway{}, map[string]string{"SVC_GATEWAY_URL": ""}, provider.Gateway{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := provider.ResolveGateway(tt.file, func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
			if got != tt.want || got.URLV1() != tt.v1 {
				t.Errorf("got %#v (%s), want %#v (%s)", got, got.URLV1(), tt.want, tt.v1)
			}
		})
	}
}

func TestEachSourceOfTheEnvMapGivesItsValue(t *testing.T) {
	t.Parallel()
	s := provider.Session{
		Base:        []string{"HTTPS_PROXY=http://p:1", "HTTP_PROXY=http://p:2", "NO_PROXY=corp.example", "OTHER=o"},
		Gateway:     provider.Gateway{URL: "http://g", APIKey: "k"},
		HooksConfig: "/run/hooks.json",
		Vars:        map[string]string{"SVC_RUN_ID": "r1"},
	}
	for source, want := range map[string]string{
		"SVC_GATEWAY_API_KEY": "k",
		"SVC_GATEWAY_URL":     "http://g",
		"SVC_GATEWAY_URL_V1":  "http://g/v1",
		"HTTPS_PROXY":         "http://p:1",
		"HTTP_PROXY":          "http://p:2",
		"NO_PROXY":            "corp.example,127.0.0.1,localhost",
		"SVC_HOOKS_CONFIG":    "/run/hooks.json",
		"SVC_RUN_ID":          "r1",
		"OTHER":               "o",
	} {
		env := environ(provider.Entry{EnvMap: provider.EnvMap{{Name: "TARGET", Source: source}}}, s)
		if env["TARGET"] != want || env[source] != want {
			t.Errorf("%s: target %q, itself %q, want %q", source, env["TARGET"], env[source], want)
		}
	}
}

func TestTheGatewayBeatsTheUsersVariablesAndNothingBeatsThemWithoutOne(t *testing.T) {
	t.Parallel()
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "TOOL_KEY", Source: "SVC_GATEWAY_API_KEY"}, {Name: "TOOL_URL", Source: "SVC_GATEWAY_URL"}}}
	s := provider.Session{Base: []string{"TOOL_KEY=mine", "TOOL_URL=http://mine"}}
	if env := environ(e, s); env["TOOL_KEY"] != "mine" || env["TOOL_URL"] != "http://mine" {
		t.Errorf("without a gateway: %v", env)
	}
	s.Gateway = provider.Gateway{URL: "http://g"}
	if env := environ(e, s); env["TOOL_KEY"] != "mine" || env["TOOL_URL"] != "http://g" {
		t.Errorf("with a URL but no key: %v", env)
	}
	s.Gateway.APIKey, s.Run = "k", map[string]string{"TOOL_KEY": "the run's"}
	if env := environ(e, s); env["TOOL_KEY"] != "k" {
		t.Errorf("with both: %v", env)
	}
}

func TestAnUnsetSourceSetsNothing(t *testing.T) {
	t.Parallel()
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "A", Source: "MISSING"}, {Name: "B", Source: "EMPTY"}}}
	if env := environ(e, provider.Session{Base: []string{"EMPTY="}}); len(env) != 1 {
		t.Errorf("got %v", env)
	}
}

func TestAFixedValueHoldsUnlessTheUserSaidOtherwise(t *testing.T) {
	t.Parallel()
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "MODE", Literal: "auto"}}}
	if env := environ(e, provider.Session{}); env["MODE"] != "auto" {
		t.Errorf("got %v", env)
	}
	if env := environ(e, provider.Session{Run: map[string]string{"MODE": "ask"}}); env["MODE"] != "ask" {
		t.Errorf("got %v", env)
	}
}

func TestTheOrderOfTheEnvMapHasNoMeaning(t *testing.T) {
	t.Parallel()
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "A", Source: "B"}, {Name: "B", Source: "A"}}}
	if env := environ(e, provider.Session{Base: []string{"A=1", "B=2"}}); env["A"] != "2" || env["B"] != "1" {
		t.Errorf("got %v", env)
	}
}

func TestProxiesReachEveryToolAndNeverCatchLoopback(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		base []string
		want map[string]string // exactly the proxy variables
	}{
		{"no proxy", []string{"NO_PROXY=x"}, map[string]string{"NO_PROXY": "x"}},
		{"https", []string{"HTTPS_PROXY=p"}, map[string]string{"HTTPS_PROXY": "p", "NO_PROXY": "127.0.0.1,localhost"}},
		{"http", []string{"HTTP_PROXY=p"}, map[string]string{"HTTP_PROXY": "p", "NO_PROXY": "127.0.0.1,localhost"}},
		{"all", []string{"ALL_PROXY=p"}, map[string]string{"ALL_PROXY": "p", "NO_PROXY": "127.0.0.1,localhost"}},
		{"the user's list stays", []string{"HTTP_PROXY=p", "NO_PROXY=a, localhost ,b"}, map[string]string{"HTTP_PROXY": "p", "NO_PROXY": "a,localhost,b,127.0.0.1"}},
		{"a star is enough", []string{"HTTP_PROXY=p", "NO_PROXY=*"}, map[string]string{"HTTP_PROXY": "p", "NO_PROXY": "*"}},
		{"lower case", []string{"http_proxy=p", "no_proxy=a"}, map[string]string{"http_proxy": "p", "no_proxy": "a,127.0.0.1,localhost", "NO_PROXY": "a,127.0.0.1,localhost"}},
		{"an empty proxy is none", []string{"HTTP_PROXY="}, map[string]string{"HTTP_PROXY": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := environ(provider.Entry{}, provider.Session{Base: tt.base}); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "HTTPS_PROXY", Source: "CORP"}}}
	if env := environ(e, provider.Session{Base: []string{"CORP=p"}}); env["HTTPS_PROXY"] != "p" || env["NO_PROXY"] != "127.0.0.1,localhost" {
		t.Errorf("a proxy that the map sets: %v", env)
	}
}

func TestNoSecretOfTheWorkerEntersASession(t *testing.T) {
	t.Parallel()
	s := provider.Session{
		Base: []string{"SVC_WORKER_TOKEN=geheim", "SVC_TOKEN=geheim", "SVC_SIGNING_KEY=geheim", "SVC_DATABASE=geheim", "SVC_SIGNAL_TOKEN=geheim", "SVC_RUN_ID=geheim",
			"SVC_GATEWAY_API_KEY=geheim", "SVC_CONFIG=/c", "SVC_DATA_DIR=/d", "PATH=/bin", "CREDENTIALS_DIRECTORY=/run/credentials/svc", "NOTIFY_SOCKET=/run/notify", "LISTEN_FDS=1", "STATE_DIRECTORY=/var/lib/svc"},
		Run:  map[string]string{"SVC_RUN_ID": "geheim", "SVC_TOKEN": "geheim"},
		Vars: map[string]string{"SVC_WORKER_TOKEN": "geheim", "SVC_SIGNING_KEY": "geheim", "SVC_ATTEMPT": "2"},
	}
	e := provider.Entry{EnvMap: provider.EnvMap{{Name: "SVC_TOKEN", Source: "SVC_WORKER_TOKEN"}}}
	got := e.Environ(s)
	if want := []string{"PATH=/bin", "SVC_ATTEMPT=2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheEnvironmentIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	s := provider.Session{
		Base: []string{"Z=1", "A=first", "A=last", "=odd", "noequals"}, Run: map[string]string{"M": "1", "N": "2", "O": "3"},
		Vars: map[string]string{"SVC_RUN_ID": "r", "SVC_ATTEMPT": "1"},
	}
	want := []string{"A=last", "M=1", "N=2", "O=3", "SVC_ATTEMPT=1", "SVC_RUN_ID=r", "Z=1"}
	for range 20 {
		if got := (provider.Entry{}).Environ(s); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestHooksFindSvcBehindThePath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, dir, want string }{
		{"/a:/b", "/opt/svc", "/a:/b:/opt/svc"}, {"/a:/opt/svc:/b", "/opt/svc", "/a:/opt/svc:/b"}, {"", "/opt/svc", "/opt/svc"}, {"/a", "", "/a"},
	} {
		env := environ(provider.Entry{}, provider.Session{Base: []string{"PATH=" + tt.path}, SelfDir: tt.dir})
		if env["PATH"] != tt.want {
			t.Errorf("%q with %q: got %q, want %q", tt.path, tt.dir, env["PATH"], tt.want)
		}
	}
}

func TestASessionStandsInItsOwnDirectory(t *testing.T) {
	t.Parallel()
	s := provider.Session{Base: []string{"PWD=/worker", "OLDPWD=/before"}}
	if env := environ(provider.Entry{}, s); len(env) != 0 {
		t.Errorf("got %v", env)
	}
	s.Dir = "/work"
	if env := environ(provider.Entry{}, s); len(env) != 1 || env["PWD"] != "/work" {
		t.Errorf("got %v", env)
	}
}

func TestTheFilesOfAConversationAreWhereTheSessionsVariablesSay(t *testing.T) {
	t.Parallel()
	e := provider.Entry{ConversationFiles: []string{"$STORE/*/{conversation}.jsonl", "~/.x/{conversation}", "/srv/{conversation}"}}
	for _, tt := range []struct{ env, want []string }{
		{[]string{"HOME=/home/u", "STORE=/s/"}, []string{"/s/*/{conversation}.jsonl", "/home/u/.x/{conversation}", "/srv/{conversation}"}},
		{[]string{"HOME=/home/u"}, []string{"/home/u/.x/{conversation}", "/srv/{conversation}"}},
		{[]string{"STORE=relative", "HOME="}, []string{"/srv/{conversation}"}},
	} {
		if got := e.ConversationPatterns(tt.env); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.env, got, tt.want)
		}
	}
}
