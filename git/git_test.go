package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// agent runs git as the owner of the folder does, and returns its output.
func agent(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryAgent(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func tryAgent(t *testing.T, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newAgentRepo makes a repository with one commit of the given files.
func newAgentRepo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	agent(t, dir, "init", "-q", "-b", "main")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	agent(t, dir, "add", "-A")
	agent(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// privateTree makes a private repository for an agent's folder, with an index of the commit that HEAD names now.
func privateTree(t *testing.T, dir string) Tree {
	t.Helper()
	repo := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), SHA1))
	head := must[Head](t)(ReadHead(filepath.Join(dir, ".git"), filepath.Join(dir, ".git")))
	check(t, repo.Borrowing(filepath.Join(dir, ".git", "objects")).Import(t.Context(), []string{head.OID}, nil))
	check(t, repo.SetRef("refs/heads/main", head.OID))
	tree := Tree{Repo: repo, Root: dir, Index: filepath.Join(repo.Dir, "index")}
	check(t, tree.Read(t.Context(), head.OID))
	return tree
}

func TestVersionIsReadAndComparedWithTheOldestThatWorks(t *testing.T) {
	t.Parallel()
	if _, err := (Program{}).Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]Version{
		"git version 2.39.5\n":                   {2, 39},
		"git version 2.39.5 (Apple Git-154)\n":   {2, 39},
		"git version 2.51.0.windows.1\n":         {2, 51},
		"hub version 2.1\n":                      {},
		"git version banana\n":                   {},
		"git version 2.45.GIT-something-local\n": {2, 45},
	} {
		got, err := parseVersion(said)
		if got != want || (err != nil) != (want == Version{}) {
			t.Errorf("parseVersion(%q) = %v, %v; want %v", said, got, err, want)
		}
	}
	old := filepath.Join(t.TempDir(), "git")
	write(t, old, "#!/bin/sh\necho git version 2.37.9\n")
	check(t, os.Chmod(old, 0o755))
	if _, err := (Program{Bin: old}).Version(t.Context()); !errors.Is(err, ErrTooOld) {
		t.Errorf("error %v, want ErrTooOld", err)
	}
	if _, err := (Program{Bin: "svc-no-such-git"}).Version(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v, want ErrNotInstalled", err)
	}
}

func TestStatusTellsEveryKindOfChange(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{
		"keep": "1", "edit": "1", "mode": "1", "gone": "1", "kind": "1", "dir/in": "1", "file": "1", "repo": "1", ".gitignore": "*.log\n",
	})
	tree := privateTree(t, dir)
	if got := must[Changes](t)(tree.Status(t.Context())); !got.Empty() || got.Warnings != "" {
		t.Fatalf("changes before any: %+v", got)
	}
	write(t, filepath.Join(dir, "edit"), "2")
	check(t, os.Chmod(filepath.Join(dir, "mode"), 0o755))
	check(t, os.Remove(filepath.Join(dir, "gone")))
	check(t, os.Remove(filepath.Join(dir, "kind")))
	check(t, os.Symlink("/etc/passwd", filepath.Join(dir, "kind")))
	check(t, os.RemoveAll(filepath.Join(dir, "dir")))
	check(t, os.Symlink("/etc", filepath.Join(dir, "dir")))
	check(t, os.Remove(filepath.Join(dir, "file")))
	write(t, filepath.Join(dir, "file/below"), "x")
	check(t, os.Remove(filepath.Join(dir, "repo")))
	agent(t, dir, "clone", "-q", dir, "repo")
	agent(t, dir, "clone", "-q", dir, "deep/er/nested")
	write(t, filepath.Join(dir, "new\nline"), "x")
	write(t, filepath.Join(dir, "noise.log"), "x")

	got := must[Changes](t)(tree.Status(t.Context()))
	want := Changes{
		Changed: []string{"edit", "kind", "mode"},
		Removed: []string{"dir/in", "file", "gone", "repo"},
		New:     []string{"dir", "file/below", "new\nline"},
		Nested:  []string{"deep/er/nested", "repo"},
	}
	for _, list := range [][]string{got.Changed, got.Removed, got.New, got.Nested} {
		slices.Sort(list)
	}
	if !slices.Equal(got.Changed, want.Changed) || !slices.Equal(got.Removed, want.Removed) ||
		!slices.Equal(got.New, want.New) || !slices.Equal(got.Nested, want.Nested) || got.Warnings != "" {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}

	if said := must[string](t)(tree.Update(t.Context(), got.Removed, append(got.Changed, got.New...))); said != "" {
		t.Fatal(said)
	}
	again := must[Changes](t)(tree.Status(t.Context()))
	if len(again.Changed)+len(again.Removed)+len(again.New) != 0 || len(again.Nested) != 2 {
		t.Fatalf("after the update: %+v", again)
	}
	files, nested, said, err := Tree{Repo: tree.Repo, Root: filepath.Join(dir, "repo")}.Files(t.Context())
	if err != nil || said != "" || len(nested) != 0 || !slices.Contains(files, "keep") || slices.Contains(files, ".git/HEAD") {
		t.Fatalf("files of the nested repository: %q, %q, %q, %v", files, nested, said, err)
	}
}

// deepFolder makes folders below dir until the path is longer than the system allows. Not even root can read the
// files in the last one by their path.
func deepFolder(t *testing.T, dir string) {
	t.Helper()
	name := strings.Repeat("d", 250)
	root := must[*os.Root](t)(os.OpenRoot(dir))
	for range 20 {
		check(t, root.Mkdir(name, 0o755))
		below := must[*os.Root](t)(root.OpenRoot(name))
		check(t, root.Close())
		root = below
	}
	check(t, root.WriteFile("x", nil, 0o644))
	check(t, root.Close())
}

func TestWhatCannotBeReadIsAWarningAndNeverClean(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1"})
	tree := privateTree(t, dir)
	deepFolder(t, dir)
	if got := must[Changes](t)(tree.Status(t.Context())); !got.Empty() || got.Warnings == "" {
		t.Fatalf("got %+v, want a warning", got)
	}
}

func TestACommitSurvivesTheRepositoryItWasImportedFrom(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1"})
	tree := privateTree(t, dir)
	check(t, os.RemoveAll(filepath.Join(dir, ".git")))
	write(t, filepath.Join(dir, "b"), "2")
	changes := must[Changes](t)(tree.Status(t.Context()))
	must[string](t)(tree.Update(t.Context(), changes.Removed, changes.New))
	id := must[string](t)(tree.WriteTree(t.Context()))
	parent := must[string](t)(tree.Commit(t.Context(), "main"))
	by := Identity{Name: "svc", Email: "svc@localhost", Unix: 1}
	commit := must[string](t)(tree.NewCommit(id, []string{parent}, by, "text\n"))
	check(t, tree.SetRef("refs/svc/1", commit))

	var bundle, patch bytes.Buffer
	check(t, tree.Bundle(t.Context(), &bundle, "refs/svc/1", parent, 1<<20))
	check(t, tree.Patch(t.Context(), &patch, parent, commit, 1<<20))
	if stat := must[Stat](t)(tree.DiffStat(t.Context(), parent, commit)); stat != (Stat{Files: 1, Additions: 1}) {
		t.Errorf("stat %+v", stat)
	}
	if !strings.Contains(patch.String(), "+2") {
		t.Errorf("patch %q", patch.String())
	}
	if err := tree.Bundle(t.Context(), new(bytes.Buffer), "refs/svc/1", parent, 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if err := tree.Patch(t.Context(), new(bytes.Buffer), parent, commit, 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}

	file := filepath.Join(t.TempDir(), "bundle")
	write(t, file, bundle.String())
	other := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), SHA1))
	if _, err := other.Unbundle(t.Context(), file); err == nil {
		t.Error("a bundle was taken without the commit that it is made on")
	}
	check(t, other.Alternate(tree.Objects()))
	refs := must[[]Ref](t)(other.Unbundle(t.Context(), file))
	if !slices.Equal(refs, []Ref{{"refs/svc/1", commit}}) {
		t.Errorf("refs %v", refs)
	}
}

func TestHeadIsReadAsFiles(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1"})
	dot := filepath.Join(dir, ".git")
	oid := agent(t, dir, "rev-parse", "HEAD")
	if got := must[Head](t)(ReadHead(dot, dot)); got != (Head{"refs/heads/main", oid}) {
		t.Errorf("loose: %+v", got)
	}
	agent(t, dir, "pack-refs", "--all")
	if got := must[Head](t)(ReadHead(dot, dot)); got != (Head{"refs/heads/main", oid}) {
		t.Errorf("packed: %+v", got)
	}
	agent(t, dir, "checkout", "-q", "--detach")
	if got := must[Head](t)(ReadHead(dot, dot)); got != (Head{"", oid}) {
		t.Errorf("detached: %+v", got)
	}
	agent(t, dir, "checkout", "-q", "--orphan", "fresh")
	if got := must[Head](t)(ReadHead(dot, dot)); got != (Head{"refs/heads/fresh", ""}) {
		t.Errorf("unborn: %+v", got)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, oid)
	for what, head := range map[string]string{
		"a path outside": "ref: ../../secret", "another namespace": "ref: refs/remotes/x/main", "nonsense": "hello", "nothing": "",
	} {
		write(t, filepath.Join(dot, "HEAD"), head)
		if got, err := ReadHead(dot, dot); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	check(t, os.Remove(filepath.Join(dot, "HEAD")))
	check(t, os.Symlink(outside, filepath.Join(dot, "HEAD")))
	if got, err := ReadHead(dot, dot); err == nil {
		t.Errorf("a link to outside was followed: %+v", got)
	}
	check(t, os.Remove(filepath.Join(dot, "HEAD")))
	check(t, mkfifo(filepath.Join(dot, "HEAD")))
	if got, err := ReadHead(dot, dot); err == nil {
		t.Errorf("a pipe was read: %+v", got)
	}
}

func TestARemoteIsListedAndFetchedAndItsErrorsAreSaid(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1"})
	agent(t, dir, "branch", "other")
	agent(t, dir, "tag", "-m", "annotated", "v1")
	oid, tag := agent(t, dir, "rev-parse", "HEAD"), agent(t, dir, "rev-parse", "v1")
	remote := must[Remote](t)(Program{}.ListRemote(t.Context(), dir))
	if remote.Default != "main" || len(remote.Heads) != 2 || remote.Heads["other"] != oid || len(remote.Tags) != 1 || remote.Tags["v1"] != tag {
		t.Errorf("remote %+v", remote)
	}
	mirror := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), FormatOf(oid)))
	var shown bytes.Buffer
	check(t, mirror.Fetch(t.Context(), dir, []string{"refs/heads/*:refs/heads/*"}, &shown))
	if got := must[string](t)(mirror.Commit(t.Context(), "refs/heads/other")); got != oid || shown.Len() == 0 {
		t.Errorf("commit %s, shown %q", got, shown.String())
	}
	agent(t, dir, "branch", "-D", "other")
	check(t, mirror.Fetch(t.Context(), dir, []string{"refs/heads/*:refs/heads/*"}, nil))
	if _, err := mirror.Commit(t.Context(), "refs/heads/other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	for url, says := range map[string]string{
		filepath.Join(dir, "missing"): "does not appear to be a git repository",
		"ext::sh -c false":            "not allowed",
		"http://127.0.0.1:1/x.git":    "unable to access",
	} {
		if _, err := (Program{}).ListRemote(t.Context(), url); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", url, err, says)
		}
	}
}

func TestAMirrorIsOneWhileItHasWhatTheRemoteHas(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1"})
	agent(t, dir, "tag", "-m", "annotated", "v1")
	mirror := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), SHA1))
	is := func() bool {
		t.Helper()
		return must[bool](t)(mirror.Mirrors(t.Context(), must[Remote](t)(Program{}.ListRemote(t.Context(), dir))))
	}
	for _, change := range [][]string{
		{"status"}, {"commit", "-q", "--allow-empty", "-m", "more"}, {"branch", "other"}, {"branch", "-m", "other", "renamed"}, {"branch", "-D", "renamed"},
		{"tag", "-f", "v1", "-m", "again"}, {"tag", "light"}, {"tag", "-d", "light"},
	} {
		agent(t, dir, change...)
		if is() {
			t.Errorf("it is still one after git %s", change)
		}
		check(t, mirror.Fetch(t.Context(), dir, []string{"refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"}, nil))
		if !is() {
			t.Errorf("it is none after a fetch of git %s", change)
		}
	}
	check(t, mirror.SetRef("refs/other/x", agent(t, dir, "rev-parse", "HEAD")))
	if is() {
		t.Error("it is one with a ref that the remote does not have")
	}
}

func TestACallEndsWithItsContextAndTakesItsChildrenAlong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin, pids := filepath.Join(dir, "git"), filepath.Join(dir, "pids")
	check(t, mkfifo(pids))
	write(t, bin, "#!/bin/sh\nsleep 600 & echo $! > '"+pids+"'\nwait\n")
	check(t, os.Chmod(bin, 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Program{Bin: bin}.Version(ctx)
		done <- err
	}()
	child, err := os.ReadFile(pids) // a pipe: once the read returns, the child exists
	check(t, err)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	awaitEnd(t, strings.TrimSpace(string(child)))

	short := Program{Bin: bin, Timeout: time.Millisecond}
	if _, err := short.Version(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a deadline", err)
	}
}
