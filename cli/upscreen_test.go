package cli

import (
	"os"
	"path/filepath"
	"testing"

	"svc/config"
)

// The next command that svc prints reaches the same orchestrator: it has the same flags, and a path at which svc is
// found.
func TestWhatIsTypedNextFindsTheSameOrchestrator(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, program := filepath.Dir(self), "./"+filepath.Base(self)
	onPath := t.TempDir()
	if err := os.WriteFile(filepath.Join(onPath, "svc"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		app        app
		want       string
	}{
		{"nothing was said", onPath, app{}, "svc"},
		{"a server", onPath, app{flags: map[string]config.Flag{"worker.server_url": {Value: "http://h:1"}}}, "svc --server http://h:1"},
		{"a data dir, a file and a context", onPath, app{dataDir: "my data", cfgFile: "c.toml", context: "work"},
			"svc --data-dir 'my data' --config c.toml --context work"},
		{"svc is in this folder alone", "/nowhere", app{}, program},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(folder)
			t.Setenv("PATH", c.path)
			if got := c.app.self(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
