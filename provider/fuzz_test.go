package provider_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/provider"
)

// FuzzParse parses any text. Parse must never panic; it must reject with Problems that name the file; what it
// accepts must be safe to use.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("presets/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range append(seeds, "providers.toml") {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("providers = { x = { bin = 'a', env_map = \"A=B\\nC=\" } }"))
	f.Add([]byte("[providers.'a\\u0000b']\nbin = 1\n[[providers.x]]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := provider.Parse("f.toml", data)
		if err != nil {
			var problems provider.Problems
			if !errors.As(err, &problems) || len(problems) == 0 || !strings.HasPrefix(err.Error(), "f.toml") {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		for _, e := range c.Entries() {
			use(t, e)
		}
	})
}

func use(t *testing.T, e provider.Entry) {
	t.Helper()
	if e.Bin == "" || e.ID == "" || e.Name == "" {
		t.Fatalf("incomplete: %+v", e)
	}
	for _, arg := range e.Argv(provider.Values{Args: []string{"a"}, Prompt: "{api_key}", APIKey: "k", Model: "m", HooksConfig: "h"}) {
		if strings.ContainsRune(arg, 0) {
			t.Fatalf("an argument with NUL: %q", arg)
		}
	}
	for _, kv := range e.Environ(provider.Session{Base: []string{"SVC_WORKER_TOKEN=geheim", "SVC_TOKEN=geheim"}}) {
		if strings.Contains(kv, "geheim") || strings.ContainsRune(kv, 0) {
			t.Fatalf("the environment has %q", kv)
		}
	}
}
