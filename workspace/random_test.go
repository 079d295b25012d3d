package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"svc"
	"svc/git"
)

// names are file names that agents may use: folders that are files elsewhere, and characters that break some tools.
var names = []string{
	"a", "dir", "dir/b", "dir/deep/c", "link", "new\nline", "spa ce", "\"quoted\"", "ünï", "-dash", "a/below", "git~1", "back\\slash", "tab\tname", "\xff\xfe", "nested/file",
}

// act makes one change in an agent's working copy.
func act(t *rapid.T, dir string) string {
	name := rapid.SampledFrom(names).Draw(t, "name")
	path := filepath.Join(dir, name)
	try := func(args ...string) string {
		_, err := tryAgent(dir, args...)
		return fmt.Sprintf("git %q: %v", args, err)
	}
	switch what := rapid.SampledFrom([]string{
		"write", "write", "write", "write", "remove", "executable", "link", "commit", "commit", "stash", "pop", "amend", "reset", "branch", "switch",
		"rebase", "forget", "collect", "lose", "nest", "folder",
	}).Draw(t, "action"); what {
	case "write":
		text := rapid.StringN(0, 20, -1).Draw(t, "text")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // a file is in the way
			_ = os.RemoveAll(filepath.Dir(path))
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		_ = os.RemoveAll(path)
		return fmt.Sprintf("write %q: %v", name, os.WriteFile(path, []byte(text), 0o644))
	case "remove":
		return fmt.Sprintf("remove %q: %v", name, os.RemoveAll(path))
	case "executable":
		return fmt.Sprintf("chmod %q: %v", name, os.Chmod(path, 0o755))
	case "link":
		_ = os.RemoveAll(path)
		target := rapid.SampledFrom([]string{"/etc/passwd", "/", "..", "a", "missing", "../../.."}).Draw(t, "target")
		return fmt.Sprintf("link %q to %q: %v", name, target, os.Symlink(target, path))
	case "commit":
		_ = try("add", "-A")
		return try("commit", "-q", "-m", "by the agent")
	case "stash":
		return try("stash", "--include-untracked")
	case "pop":
		return try("stash", "pop")
	case "amend":
		return try("commit", "-q", "--amend", "--allow-empty", "-am", "amended")
	case "reset":
		return try("reset", "-q", "--hard", "HEAD~1")
	case "branch":
		return try("switch", "-q", "-c", fmt.Sprintf("b%d", rapid.IntRange(0, 3).Draw(t, "branch")))
	case "switch":
		return try("switch", "-q", "--discard-changes", rapid.SampledFrom([]string{"main", "b0", "b1", "--detach"}).Draw(t, "branch"))
	case "rebase":
		return try("rebase", "-q", "--root", "--exec", "true")
	case "forget":
		return try("rm", "-q", "-r", "--cached", "dir")
	case "collect":
		_ = try("reflog", "expire", "--expire=now", "--all")
		return try("gc", "-q", "--prune=now")
	case "lose":
		_ = os.RemoveAll(filepath.Join(dir, ".git"))
		return try("init", "-q")
	case "nest":
		_ = os.RemoveAll(filepath.Join(dir, "nested"))
		return try("clone", "-q", ".", "nested")
	default: // an empty folder, which git does not store
		return fmt.Sprintf("mkdir %q: %v", name, os.MkdirAll(path, 0o755))
	}
}

func TestWhateverAnAgentDoesItsTreeIsRebuiltFromTheBundle(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	rapid.Check(t, func(rt *rapid.T) {
		isolation := rapid.SampledFrom([]svc.Isolation{svc.IsolationClone, svc.IsolationWorktree}).Draw(rt, "isolation")
		r, err := h.Prepare(t.Context(), orderOf(origin, isolation))
		check(rt, err)
		elsewhere, err := h.Git.Init(t.Context(), filepath.Join(t.TempDir(), "git"), git.SHA1)
		check(rt, err)
		check(rt, elsewhere.Fetch(t.Context(), origin, []string{"refs/heads/*:refs/heads/*"}, nil))
		last := Checkpoint{Commit: r.BaseCommit}
		for range rapid.IntRange(1, 3).Draw(rt, "checkpoints") {
			for range rapid.IntRange(1, 8).Draw(rt, "actions") {
				rt.Log(act(rt, r.Path))
			}
			before := everything(rt, r.Path)
			c, made, err := h.Checkpoint(t.Context(), r.ID)
			check(rt, err)
			same(rt, "the folder after a checkpoint", everything(rt, r.Path), before)
			if made != (c.Commit != last.Commit) || c.Warnings != "" {
				rt.Fatalf("made %v: %+v", made, c)
			}
			last = c
			if made {
				e, err := h.Export(t.Context(), r.ID, 1<<20)
				check(rt, err)
				_, err = elsewhere.Unbundle(t.Context(), e.Bundle)
				check(rt, err)
			}
			target := git.Tree{Repo: elsewhere, Root: t.TempDir(), Index: filepath.Join(t.TempDir(), "index")}
			check(rt, target.Checkout(t.Context(), c.Commit))
			same(rt, "what the bundle makes", files(rt, target.Root), files(rt, r.Path))
		}
	})
}
