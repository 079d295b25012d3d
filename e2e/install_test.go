package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// release is a folder like that of make release, with a binary that only tells its version.
func release(t *testing.T) (dir, archive string) {
	t.Helper()
	dir = t.TempDir()
	name := fmt.Sprintf("svc-1.2.3-%s-%s", runtime.GOOS, runtime.GOARCH)
	archive = filepath.Join(dir, name+".tar.gz")
	for _, step := range []string{
		"mkdir " + name,
		"printf '#!/bin/sh\\necho svc 1.2.3\\n' >" + name + "/svc",
		"chmod 755 " + name + "/svc",
		"tar -czf " + name + ".tar.gz " + name,
		"rm -r " + name,
	} {
		cmd := exec.Command("sh", "-c", step)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sums := fmt.Sprintf("%064x  ./svc-1.2.3-plan9-amd64.tar.gz\n%x  ./%s.tar.gz\n", 0, sha256.Sum256(content), name)
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, archive
}

func install(from, to string) (string, error) {
	out, err := exec.Command("sh", filepath.Join("..", "scripts", "install.sh"), from, to).CombinedOutput()
	return string(out), err
}

func TestTheInstallerTakesAFolderOrAnAddress(t *testing.T) {
	t.Parallel()
	dir, _ := release(t)
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(web.Close)
	for _, from := range []string{dir, web.URL, web.URL + "/"} {
		to := filepath.Join(t.TempDir(), "bin")
		said, err := install(from, to)
		if err != nil || !strings.Contains(said, "installed svc 1.2.3 as "+to+"/svc\n") || !strings.Contains(said, "next: svc up") {
			t.Errorf("from %s: %v\n%s", from, err, said)
		}
		if out, err := exec.Command(filepath.Join(to, "svc")).Output(); err != nil || string(out) != "svc 1.2.3\n" {
			t.Errorf("the installed binary says %q (%v)", out, err)
		}
	}
}

func TestTheInstallerRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(dir, archive string) error
		says  string
	}{
		"an archive that was changed": {func(_, archive string) error { return os.WriteFile(archive, []byte("other"), 0o600) }, "does not have the checksum"},
		"an archive that is missing":  {func(_, archive string) error { return os.Remove(archive) }, "cannot read"},
		"no checksums":                {func(dir, _ string) error { return os.Remove(filepath.Join(dir, "SHA256SUMS")) }, "cannot read"},
		"another machine's release": {func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), fmt.Appendf(nil, "%064x  ./svc-1-plan9-amd64.tar.gz\n", 0), 0o600)
		}, "names no archive for"},
	} {
		dir, archive := release(t)
		if err := c.spoil(dir, archive); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "bin")
		said, err := install(dir, to)
		if err == nil || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		if _, err := os.Stat(filepath.Join(to, "svc")); err == nil {
			t.Errorf("%s was installed", name)
		}
	}
}
