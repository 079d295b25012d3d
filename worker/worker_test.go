package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheFolderForSocketsIsPrivate(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureRuntimeDir([]string{open}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", info.Mode(), err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureRuntimeDir([]string{link}); err == nil {
		t.Error("a link to a folder was taken: it may lead to another user's")
	}
	if os.Getuid() != 0 {
		return
	}
	foreign := filepath.Join(base, "foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(foreign, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureRuntimeDir([]string{foreign}); err == nil {
		t.Error("another user's folder was taken")
	}
}

func TestEachDataDirectoryHasItsOwnShortFolderForSockets(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "svcw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	t.Setenv("XDG_RUNTIME_DIR", base) // so not parallel
	one, err := ensureRuntimeDir(runtimeDirs("", "/data/one"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := ensureRuntimeDir(runtimeDirs("", "/data/two"))
	if err != nil {
		t.Fatal(err)
	}
	if one == two || filepath.Dir(one) != base {
		t.Errorf("folders %q and %q, want two below XDG_RUNTIME_DIR", one, two)
	}
	if name := filepath.Base(one); len(name) != len("svc-12345678") {
		t.Errorf("folder %q, want a short name", name)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"config":    {},
		"token":     {Config: configOf(0)},
		"host_name": {Config: nameless(), Token: "t"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want an error that names %s", err, want)
		}
	}
}
