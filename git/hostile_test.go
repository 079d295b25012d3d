package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// awaitEnd waits until a process has ended. It may still be a zombie that only its new parent can remove.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	check(t, err)
	for t.Context().Err() == nil {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		if syscall.Kill(number, 0) == syscall.ESRCH {
			return
		}
	}
}

// plant adds every known setting that makes git execute a program to a repository. Each program leaves a file in the
// returned folder when it is executed.
func plant(t *testing.T, dir string) (marks string) {
	t.Helper()
	marks = t.TempDir()
	n := 0
	program := func(what string) string {
		n++
		path := filepath.Join(t.TempDir(), strconv.Itoa(n))
		write(t, path, "#!/bin/sh\necho \"$@\" >> '"+filepath.Join(marks, what)+"'\ncat\nexit 0\n")
		check(t, os.Chmod(path, 0o755))
		return path
	}
	for _, hook := range []string{
		"pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman",
	} {
		check(t, os.MkdirAll(filepath.Join(dir, ".git/hooks"), 0o755))
		check(t, os.Rename(program("hook-"+hook), filepath.Join(dir, ".git/hooks", hook)))
	}
	for key, value := range map[string]string{
		"core.fsmonitor": program("fsmonitor"), "core.sshCommand": program("ssh"), "core.pager": program("pager"),
		"core.editor": program("editor"), "core.askPass": program("askpass"), "core.alternateRefsCommand": program("alternates"),
		"core.gitProxy": program("proxy"), "credential.helper": program("credential"), "gpg.program": program("gpg"),
		"commit.gpgSign": "true", "diff.external": program("external"), "uploadpack.packObjectsHook": program("pack"),
		"filter.evil.clean": program("clean"), "filter.evil.smudge": program("smudge"), "filter.evil.required": "true",
		"filter.proc.process": program("process"), "filter.proc.required": "true",
		"diff.evil.textconv": program("textconv"), "diff.evil.command": program("diff-command"), "merge.evil.driver": program("merge"),
		"extensions.partialClone": "evil", "remote.evil.url": "ext::" + program("lazy-fetch"), "remote.evil.promisor": "true",
		"protocol.ext.allow": "always", "core.repositoryFormatVersion": "1", "submodule.recurse": "true",
	} {
		agent(t, dir, "config", key, value)
	}
	write(t, filepath.Join(dir, ".gitattributes"), "*.bin filter=proc\n* filter=evil diff=evil merge=evil\n")
	return marks
}

func marked(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestNothingThatARepositoryNamesIsExecuted(t *testing.T) {
	t.Parallel()
	dir := newAgentRepo(t, map[string]string{"a": "1", "b.bin": "1"})
	agent(t, dir, "clone", "-q", dir, "nested")
	agent(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", dir, "sub")
	agent(t, dir, "commit", "-q", "-m", "with a submodule")
	tree := privateTree(t, dir)

	marks := plant(t, dir)
	nestedMarks := plant(t, filepath.Join(dir, "nested"))
	subMarks := t.TempDir()
	monitor := filepath.Join(subMarks, "run")
	write(t, monitor, "#!/bin/sh\ntouch '"+filepath.Join(subMarks, "fsmonitor")+"'\n")
	check(t, os.Chmod(monitor, 0o755))
	agent(t, filepath.Join(dir, "sub"), "config", "core.fsmonitor", monitor)
	clear := func() {
		for _, where := range []string{marks, nestedMarks} {
			for _, name := range marked(t, where) {
				check(t, os.Remove(filepath.Join(where, name)))
			}
		}
		_ = os.Remove(filepath.Join(subMarks, "fsmonitor"))
	}
	write(t, filepath.Join(dir, "a"), "changed")
	write(t, filepath.Join(dir, "b.bin"), "changed")
	write(t, filepath.Join(dir, "new"), "new")
	write(t, filepath.Join(dir, "sub/a"), "changed")

	// The traps work: git itself runs them.
	_, _ = tryAgent(t, dir, "status")
	_, _ = tryAgent(t, dir, "diff")
	_, _ = tryAgent(t, dir, "add", "-A")
	if len(marked(t, marks)) < 3 || len(marked(t, subMarks)) != 2 {
		t.Fatalf("git executed only %q and %q", marked(t, marks), marked(t, subMarks))
	}
	clear()

	ctx := t.Context()
	changes := must[Changes](t)(tree.Status(ctx))
	must[string](t)(tree.Update(ctx, changes.Removed, append(changes.Changed, changes.New...)))
	id := must[string](t)(tree.WriteTree(ctx))
	dot := filepath.Join(dir, ".git")
	head := must[Head](t)(ReadHead(dot, dot))
	check(t, tree.Borrowing(filepath.Join(dot, "objects")).Import(ctx, []string{head.OID}, nil))
	commit := must[string](t)(tree.NewCommit(id, []string{head.OID}, Identity{Name: "svc", Email: "s@x"}, "m"))
	check(t, tree.SetRef("refs/svc/1", commit))
	check(t, tree.Bundle(ctx, new(bytes.Buffer), "refs/svc/1", head.OID, 1<<20))
	var patch bytes.Buffer
	check(t, tree.Patch(ctx, &patch, head.OID, commit, 1<<20))
	must[Stat](t)(tree.DiffStat(ctx, head.OID, commit))
	elsewhere := Tree{Repo: tree.Repo, Root: t.TempDir(), Index: filepath.Join(t.TempDir(), "index")}
	check(t, elsewhere.Checkout(ctx, commit))
	_, _, _, err := Tree{Repo: tree.Repo, Root: filepath.Join(dir, "nested")}.Files(ctx)
	check(t, err)

	for _, where := range []string{marks, nestedMarks} {
		if got := marked(t, where); len(got) > 0 {
			t.Errorf("executed: %q", got)
		}
	}
	if got := marked(t, subMarks); len(got) != 1 {
		t.Errorf("executed in the submodule: %q", got)
	}
	for name, want := range map[string]string{"a": "changed", "b.bin": "changed", "new": "new"} {
		got, err := os.ReadFile(filepath.Join(elsewhere.Root, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
}
