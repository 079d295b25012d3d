package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// release creates a folder like that of make release. Its svc is a script that only prints its version.
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
			t.Errorf("the installed binary prints %q (%v)", out, err)
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

func TestABuildSaysWhichToolIsMissingOrTooOld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, answer, want string }{
		"go of today":   {"go", "go version go99.1 linux/amd64", ""},
		"an old go":     {"go", "go version go1.4.2 linux/amd64", "svc needs Go [0-9.]+ or newer to build; .*/go is 1.4.2; see https://go.dev/dl"},
		"no go":         {"go", "", "svc needs Go [0-9.]+ or newer to build, and there is none on the PATH; see https://go.dev/dl"},
		"node of today": {"node", "v99.1.0", ""},
		"an old node":   {"node", "v12.22.12", "svc needs Node [0-9.]+ or newer to build; .*/node is 12.22.12; see https://nodejs.org"},
		"no node":       {"node", "", "svc needs Node [0-9.]+ or newer to build, and there is none on the PATH; see https://nodejs.org"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, program := range []string{"bash", "dirname", "sed", "grep", "sort", "head"} {
				path, err := exec.LookPath(program)
				if err == nil {
					err = os.Symlink(path, filepath.Join(dir, program))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.answer != "" {
				if err := os.WriteFile(filepath.Join(dir, c.tool), []byte("#!/bin/sh\necho "+c.answer+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(dir, "bash"), filepath.Join("..", "scripts", "check-tools"), c.tool)
			cmd.Env = []string{"PATH=" + dir}
			said, err := cmd.CombinedOutput()
			if (err == nil) != (c.want == "") || !regexp.MustCompile("^"+c.want+"\n?$").Match(said) {
				t.Errorf("%v, %q, want %q", err, said, c.want)
			}
		})
	}
}

// The formula has the archive and the checksum for each platform, with addresses under RELEASE_URL.
func TestTheFormulaNamesEveryArchive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "scripts"), os.DirFS(filepath.Join("..", "scripts"))); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, machine := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"} {
		name := "svc-v1.2.3-" + machine + ".tar.gz"
		if err := os.WriteFile(filepath.Join(root, "dist", name), []byte(machine), 0o600); err != nil {
			t.Fatal(err)
		}
		want["https://example.org/r/"+name] = fmt.Sprintf("%x", sha256.Sum256([]byte(machine)))
	}
	cmd := exec.Command("bash", filepath.Join(root, "scripts", "homebrew-formula"), "v1.2.3")
	cmd.Env = append(os.Environ(), "RELEASE_URL=https://example.org/r")
	formula, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`url "(.*)"\n *sha256 "(.*)"`).FindAllStringSubmatch(string(formula), -1) {
		got[m[1]] = m[2]
	}
	if !maps.Equal(got, want) || !strings.Contains(string(formula), `version "1.2.3"`) || !strings.Contains(string(formula), `depends_on "tmux"`) {
		t.Errorf("the formula is\n%s", formula)
	}
}
