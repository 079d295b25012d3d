package wrapper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestANameIsFoundWhereThePatternSaysAndNowhereElse(t *testing.T) {
	t.Parallel()
	dir, elsewhere := realPath(t, t.TempDir()), realPath(t, t.TempDir())
	make := func(path string, folder bool) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if folder {
			err = errors.Join(err, os.MkdirAll(path, 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, from string) {
		t.Helper()
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	make(dir+"/a/one/id.jsonl", false)
	make(dir+"/a/two/other.jsonl", false)
	make(dir+"/deep/2026/11/18/rollout-x-id.jsonl", false)
	make(dir+"/empty", true)
	make(dir+"/file", false)
	make(dir+"/linked/b", true)
	make(dir+"/late/b", true)
	make(elsewhere+"/id.jsonl", false)
	make(dir+"/secret/b/id.jsonl", false)
	link(elsewhere, dir+"/linked/a")
	link(elsewhere, dir+"/late/a")
	make(dir+"/late/z/id.jsonl", false)
	link(dir+"/a", dir+"/home")
	link(dir+"/secret", dir+"/stolen")
	make(dir+"/pipes/b", true)
	if err := unix.Mkfifo(dir+"/pipes/a", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]struct {
		found bool
		err   error
	}{
		"/a/*/id.jsonl":                    {found: true},
		"/a/*/gone.jsonl":                  {},
		"/a/one/id.jsonl":                  {found: true},
		"/deep/*/*/*/rollout-*-id.jsonl":   {found: true},
		"/deep/*/*/*/rollout-*-gone.jsonl": {},
		"/empty/*/id.jsonl":                {},
		"/none/*/id.jsonl":                 {},
		"/file/*/id.jsonl":                 {},
		"/home/*/id.jsonl":                 {found: true},
		"/linked/*/id.jsonl":               {err: errLink},
		"/late/*/id.jsonl":                 {found: true},
		"/stolen/*/id.jsonl":               {err: errHidden},
		"/pipe/*/id.jsonl":                 {},
		"/pipes/*/id.jsonl":                {},
	} {
		s := nameSearch{left: 100, hides: func(path string) bool { return path == dir+"/secret" }}
		if found, err := s.finds(dir + pattern); found != want.found || !errors.Is(err, want.err) || want.err == nil && err != nil {
			t.Errorf("%s: %v, %v; want %+v", pattern, found, err, want)
		}
	}
}

func TestASearchForANameEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range strings.Split("abcdefgh", "") {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := nameSearch{left: 7, hides: func(string) bool { return false }}
	if found, err := s.finds(dir + "/*/id"); found || !errors.Is(err, errManyNames) {
		t.Errorf("%v, %v", found, err)
	}
}

// A folder that cannot be read must not count as empty. Root can read every folder, but cannot open a name that
// is too long.
func TestAFolderThatCannotBeReadIsNotEmpty(t *testing.T) {
	t.Parallel()
	dir, long := t.TempDir(), strings.Repeat("x", 300)
	if err := os.Mkdir(dir+"/open", 0o700); err != nil {
		t.Fatal(err)
	}
	patterns := []string{"/*/" + long + "/id", "/" + long + "/*/id"}
	if os.Getuid() != 0 {
		if err := os.Mkdir(dir+"/shut", 0); err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, "/shut/*/id", "/shut/b/id")
	}
	for _, pattern := range patterns {
		s := nameSearch{left: 7, hides: func(string) bool { return false }}
		if found, err := s.finds(dir + pattern); found || err == nil {
			t.Errorf("%s: %v, %v", pattern, found, err)
		}
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
