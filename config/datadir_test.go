package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/config"
)

func TestTheDataDirIsFoundByFlagVariableAndPlatform(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flag, goos string
		env        vars
		want       string
	}{
		"flag":            {"/flag", "linux", vars{"SVC_DATA_DIR": "/var", "XDG_DATA_HOME": "/xdg", "HOME": "/h"}, "/flag"},
		"variable":        {"", "linux", vars{"SVC_DATA_DIR": "/var", "XDG_DATA_HOME": "/xdg", "HOME": "/h"}, "/var"},
		"XDG":             {"", "linux", vars{"XDG_DATA_HOME": "/xdg", "HOME": "/h"}, "/xdg/svc"},
		"relative XDG":    {"", "linux", vars{"XDG_DATA_HOME": "xdg", "HOME": "/h"}, "/h/.local/share/svc"},
		"home":            {"", "linux", vars{"HOME": "/h"}, "/h/.local/share/svc"},
		"macOS":           {"", "darwin", vars{"XDG_DATA_HOME": "/xdg", "HOME": "/h"}, "/h/Library/Application Support/svc"},
		"macOS, variable": {"", "darwin", vars{"SVC_DATA_DIR": "/var", "HOME": "/h"}, "/var"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load(t, config.Sources{DataDir: test.flag, GOOS: test.goos, Env: test.env.get})
			equal(t, "data dir", c.DataDir, test.want)
		})
	}
}

func TestARelativeDataDirBecomesAbsolute(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "data dir", load(t, config.Sources{DataDir: "x"}).DataDir, filepath.Join(wd, "x"))
}

func TestWithoutAHomeThereIsNoDataDir(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{GOOS: "linux"})
	wantMentions(t, err, "SVC_DATA_DIR", "HOME")
}

func TestTheDataDirAndItsParentsAreMadePrivate(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "a")
	dir := filepath.Join(parent, "svc")
	for range 2 {
		warning, err := config.EnsureDataDir(dir)
		if err != nil || warning != "" {
			t.Fatalf("EnsureDataDir gives %q, %v", warning, err)
		}
	}
	equal(t, "mode", mode(t, dir), os.FileMode(0o700))
	equal(t, "mode of the parent", mode(t, parent), os.FileMode(0o700))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("the directory holds %v, %v; want nothing", left, err)
	}
}

func TestADataDirThatOthersMayReadIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	warning, err := config.EnsureDataDir(dir)
	if err != nil || !strings.Contains(warning, "was open to other users (mode 0755)") {
		t.Errorf("EnsureDataDir gives %q, %v; want a warning", warning, err)
	}
	equal(t, "mode", mode(t, dir), os.FileMode(0o700))
}

func TestADataDirThatOthersMayWriteToIsRefused(t *testing.T) {
	t.Parallel()
	for _, open := range []os.FileMode{0o770, 0o777, 0o702} {
		dir := t.TempDir()
		if err := os.Chmod(dir, open); err != nil {
			t.Fatal(err)
		}
		_, err := config.EnsureDataDir(dir)
		wantMentions(t, err, dir, "open to other users", "chmod 700")
		equal(t, "mode", mode(t, dir), open)
	}
}

func TestAFileInThePlaceOfTheDataDirIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	for _, dir := range []string{file, filepath.Join(file, "svc")} {
		_, err := config.EnsureDataDir(dir)
		wantMentions(t, err, dir, "not a directory", "SVC_DATA_DIR")
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
