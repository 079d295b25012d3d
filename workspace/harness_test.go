package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
)

// tester has the methods of *testing.T and *rapid.T that the helpers need.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func ctxOf(t tester) context.Context {
	if c, ok := t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

func check(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// agent runs git as the agent in a working copy does.
func agent(t tester, dir string, args ...string) string {
	t.Helper()
	out, err := tryAgent(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func tryAgent(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t tester, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o644))
}

// newOrigin makes a repository with two commits on main and a branch "other".
func newOrigin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	agent(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a"), "1\n")
	write(t, filepath.Join(dir, "dir/b"), "1\n")
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n.env\ncache/\n")
	check(t, os.Symlink("a", filepath.Join(dir, "link")))
	agent(t, dir, "add", "-A")
	agent(t, dir, "commit", "-q", "-m", "first")
	agent(t, dir, "branch", "other")
	write(t, filepath.Join(dir, "a"), "2\n")
	agent(t, dir, "commit", "-q", "-am", "second")
	agent(t, dir, "tag", "v1")
	return dir
}

func newHost(t *testing.T) Host {
	t.Helper()
	return Host{Dir: t.TempDir()}
}

// orderOf returns an order for a workspace of a repository.
func orderOf(repo string, isolation svc.Isolation) Order {
	id := svc.NewWorkspaceID()
	return Order{
		ID: id, Branch: svc.WorkspaceBranch("a title", id), Env: []string{"PATH=" + os.Getenv("PATH")},
		Source: svc.Source{Repo: repo, Isolation: isolation}.OrDefaults(),
	}
}

func prepare(t *testing.T, h Host, o Order) Record {
	t.Helper()
	r, err := h.Prepare(t.Context(), o)
	check(t, err)
	if !r.Ready() || r.State() != svc.WorkspaceReady {
		t.Fatalf("the workspace is %s at %s", r.State(), r.Step)
	}
	return r
}

// files returns kind, mode and content, by name, of everything below a folder, except what has the name .git.
func files(t tester, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			found[name] = "link to " + target
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = fmt.Sprintf("file executable=%v %q", info.Mode()&0o100 != 0, text)
		return err
	}))
	return found
}

// everything returns content, mode and time of every file below a folder, by name.
func everything(t tester, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			found[path] += string(text)
			return err
		}
		return nil
	}))
	return found
}

// different lists the keys in which two maps differ.
func different(a, b map[string]string) []string {
	var keys []string
	for key := range a {
		if b[key] != a[key] {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func same(t tester, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		keys := different(got, want)
		t.Fatalf("%s: %q differ; the first is %q, want %q", what, keys, got[keys[0]], want[keys[0]])
	}
}
