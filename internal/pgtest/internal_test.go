package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// install writes empty programs with these names to dir.
func install(t *testing.T, dir string, names ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		program(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	return dir
}

// program writes a script in a way that it can be started at once. Otherwise, a process that another test starts at
// that time could have it open for writing.
func program(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestTheServerIsFoundInPathFirstThenTheNewest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	client := install(t, filepath.Join(root, "client"), "psql", "initdb")
	local := install(t, filepath.Join(root, "local"), "initdb", "postgres")
	install(t, filepath.Join(root, "lib", "9", "bin"), "initdb", "postgres")
	newest := install(t, filepath.Join(root, "lib", "15", "bin"), "initdb", "postgres")
	install(t, filepath.Join(root, "lib", "16", "bin"), "psql")
	globs := []string{filepath.Join(root, "lib", "*", "bin")}

	for _, tt := range []struct{ name, path, want string }{
		{"in PATH", client + ":" + local, local},
		{"only a client in PATH", client, newest},
		{"relative and empty entries", ":.:" + client, newest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := findServer(tt.path, globs)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestWithoutAServerTheErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := findServer(t.TempDir(), nil)
	if !errors.Is(err, errNotFound) || !strings.Contains(err.Error(), "make test") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatCannotStartTellsWhy(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	dir := filepath.Join(t.TempDir(), "cluster")
	install(t, dir)
	install(t, bin, "initdb")
	program(t, filepath.Join(bin, "postgres"), "#!/bin/sh\necho FATAL: no room at all >&2\nexit 1\n")
	_, err := startIn(dir, bin, nil)
	if err == nil || !strings.Contains(err.Error(), "no room at all") {
		t.Errorf("got %v, want what the server said", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cluster's directory is left behind: %v", err)
	}
}

func TestAnythingButAPostgresURLIsRefusedWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=db password=hunter2", "mysql://u:hunter2@db/x", "postgres://u:hunter2@db:port/x"} {
		_, err := parseURL(dsn)
		if err == nil {
			t.Errorf("%s is accepted", dsn)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}
