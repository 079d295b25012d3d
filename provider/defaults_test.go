package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"svc"
	"svc/provider"
)

func TestTheShippedCatalogIsTheInterfacesTable(t *testing.T) {
	t.Parallel()
	serve := []string{"agent", "serve", "--bind", "127.0.0.1:0", "--secret", "{api_key}"}
	hook := []provider.CompletionSignal{provider.NativeHook, provider.ExitCode}
	exit := []provider.CompletionSignal{provider.ExitCode}
	tests := []struct {
		id       string
		tui      provider.TUIType
		signals  []provider.CompletionSignal
		hooks    bool
		argv     []string
		optional bool
	}{
		{"provider_a", provider.FullScreen, hook, true, serve, false},
		{"provider_b", provider.LineOriented, exit, false, []string{"agent", "run", "--model", "{model}", "--api-key", "{api_key}", "{args}"}, false},
		{"provider_c", provider.FullScreen, hook, true, serve, false},
		{"provider_d", provider.LineOriented, exit, false, []string{"chat", "--model", "{model}", "--api-key", "{api_key}", "{args}"}, true},
		{"demo", provider.LineOriented, hook, false, []string{"exec", "demo", "--conversation", "{conversation}", "{args}", "--", "{prompt}"}, true},
	}
	c := provider.Defaults()
	for i, tt := range tests {
		e := entry(t, c, tt.id)
		if e.TUIType != tt.tui || !reflect.DeepEqual(e.CompletionSignals, tt.signals) || (e.HooksTemplate != "") != tt.hooks ||
			!reflect.DeepEqual(e.ArgvTemplate, tt.argv) || e.Optional != tt.optional ||
			!reflect.DeepEqual(e.InstalledDetection, []string{"--version"}) {
			t.Errorf("%s is not as the table has it: %+v", tt.id, e)
		}
		if c.IDs()[i] != tt.id {
			t.Errorf("entry %d is %s, want %s", i, c.IDs()[i], tt.id)
		}
	}
	if len(c.IDs()) != len(tests) {
		t.Errorf("the catalog has %v", c.IDs())
	}
	for _, id := range provider.StandardIDs() {
		if !c.Has(id) {
			t.Errorf("%s is not shipped", id)
		}
	}
	if bin := entry(t, c, "demo").Bin; bin != "svc" {
		t.Errorf("the demo runs %s", bin)
	}
}

// This checks the gateway's part of the interface: which entries get the URL with /v1 and which without.
func TestTheShippedEntriesGetTheGatewayInTheirOwnNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id   string
		want map[string]string
	}{
		{"provider_a", map[string]string{"PROVIDER_A_API_KEY": "key", "PROVIDER_A_BASE_URL": "https://g.example"}},
		{"provider_b", map[string]string{"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": "https://g.example/v1"}},
		{"provider_c", map[string]string{"OPENAI_BASE_URL": "https://g.example/v1", "PROVIDER_C_API_KEY": "key", "PROVIDER_C_BASE_URL": "https://g.example", "PROVIDER_C_GATEWAY_URL": "https://g.example"}},
		{"provider_d", map[string]string{"PROVIDER_D_API_KEY": "key", "PROVIDER_D_AUTH_TOKEN": "key", "PROVIDER_D_BASE_URL": "https://g.example"}},
	}
	for _, tt := range tests {
		env := environ(entry(t, provider.Defaults(), tt.id), provider.Session{Gateway: provider.Gateway{URL: "https://g.example", APIKey: "key"}})
		for name, want := range tt.want {
			if env[name] != want {
				t.Errorf("%s: %s = %q, want %q", tt.id, name, env[name], want)
			}
		}
	}
}

func TestTheShippedHookConfigsAreJSONThatReportsThisRun(t *testing.T) {
	t.Parallel()
	run := svc.NewRunID()
	for _, id := range []string{"provider_a", "provider_c"} {
		path, err := entry(t, provider.Defaults(), id).RenderHooks(filepath.Join(t.TempDir(), id), "http://127.0.0.1:7898/", run)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			RunID      string `json:"run_id"`
			SignalsURL string `json:"signals_url"`
			Hooks      map[string][]struct{ Command string }
		}
		if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
			t.Fatal(err)
		}
		if want := "http://127.0.0.1:7898/api/internal/runs/" + run + "/signals"; got.RunID != run || got.SignalsURL != want {
			t.Errorf("%s: %+v", id, got)
		}
		if got.Hooks["completed"][0].Command != "svc exec signal completed --result success" {
			t.Errorf("%s: %+v", id, got.Hooks)
		}
	}
}

func TestTheFirstStartWritesTheCatalogAndNoLaterOneTouchesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "svc", "providers.toml")
	made, err := provider.EnsureFile(path)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if _, err := provider.Load(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err = provider.EnsureFile(path)
	if err != nil || made || read(t, path) != "# mine\n" {
		t.Errorf("made %v, %v, content %q", made, err, read(t, path))
	}
}

func TestOfManyFirstStartsOneWritesAndNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var (
		made atomic.Int32
		all  sync.WaitGroup
	)
	for range 8 {
		all.Go(func() {
			if ok, err := provider.EnsureFile(filepath.Join(dir, "providers.toml")); err != nil {
				t.Error(err)
			} else if ok {
				made.Add(1)
			}
		})
	}
	all.Wait()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || made.Load() != 1 {
		t.Errorf("%d wrote, files %v, %v", made.Load(), files, err)
	}
}

// read returns the content of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
