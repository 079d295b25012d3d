package provider_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/provider"
)

func TestTheHookConfigIsRenderedForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run", "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := svc.NewRunID()
	e := provider.Entry{ID: "x", HooksTemplate: "u={svc_api_url} r={run_id} {run_id} ${run_id}", HooksName: "h.conf"}
	for range 2 { // a second attempt renders it again
		path, err := e.RenderHooks(dir, "https://svc.example:8443/base/", run)
		if err != nil || path != filepath.Join(dir, "h.conf") {
			t.Fatalf("%q, %v", path, err)
		}
	}
	if got, want := read(t, filepath.Join(dir, "h.conf")), "u=https://svc.example:8443/base r="+run+" "+run+" ${run_id}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "h.conf"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v, %v", path, info.Mode().Perm(), want, err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
}

func TestAToolWithoutATemplateGetsNoHookConfig(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hooks")
	path, err := provider.Entry{}.RenderHooks(dir, "http://h", svc.NewRunID())
	if path != "" || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestValuesThatCouldBreakOutOfAHookConfigAreRefused(t *testing.T) {
	t.Parallel()
	e := provider.Entry{ID: "x", HooksTemplate: "{svc_api_url} {run_id}", HooksName: "h"}
	good := svc.NewRunID()
	for _, tt := range []struct{ url, run string }{
		{`http://h/"`, good}, {"http://h/$(id)", good}, {"http://h/\n", good}, {"http://h/'", good}, {"http://h;x", good},
		{"ftp://h", good}, {"h:1", good}, {"", good}, {"http://h", ""}, {"http://h", "../x"}, {"http://h", good + "\""},
	} {
		if path, err := e.RenderHooks(t.TempDir(), tt.url, tt.run); err == nil || path != "" {
			t.Errorf("%q and %q gave %q", tt.url, tt.run, path)
		}
	}
	for _, url := range []string{"http://127.0.0.1:7898", "http://[::1]:1", "https://a-b.example/x_y/%20/"} {
		if _, err := e.RenderHooks(t.TempDir(), url, good); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := e.RenderHooks(filepath.Join(os.DevNull, "x"), "http://h", good); err == nil || !strings.Contains(err.Error(), "hook config of x") {
		t.Errorf("a folder that cannot be made: %v", err)
	}
}
