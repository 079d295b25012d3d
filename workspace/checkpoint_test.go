package workspace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/git"
)

// checkpoint makes a checkpoint and checks that it changes none of the agent's files.
func checkpoint(t *testing.T, h Host, r Record) (Checkpoint, bool) {
	t.Helper()
	before, shared := everything(t, r.Path), map[string]string{}
	if r.Source.Isolation == svc.IsolationWorktree {
		shared = everything(t, h.shared(r.Source.Repo))
	}
	c, made, err := h.Checkpoint(t.Context(), r.ID)
	check(t, err)
	same(t, "the folder after a checkpoint", everything(t, r.Path), before)
	if len(shared) > 0 {
		same(t, "the shared repository after a checkpoint", everything(t, h.shared(r.Source.Repo)), shared)
	}
	return c, made
}

// rebuilt returns the files of a checkpoint, read from the private repository alone.
func rebuilt(t tester, h Host, r Record, c Checkpoint) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp(h.Dir, "rebuilt-")
	check(t, err)
	private := h.private(h.Git, r.ID)
	tree := git.Tree{Repo: private, Root: dir, Index: filepath.Join(h.Dir, filepath.Base(dir)+".index")}
	check(t, tree.Checkout(ctxOf(t), c.Commit))
	return files(t, dir)
}

func TestACheckpointKeepsEverythingAndTouchesNothing(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			r := prepare(t, h, orderOf(newOrigin(t), isolation))
			if c, made := checkpoint(t, h, r); made || c.Number != 0 || c.Commit != r.BaseCommit {
				t.Errorf("an untouched copy made %+v", c)
			}
			// Staged, changed after that, new, removed, and stashed.
			write(t, filepath.Join(r.Path, "dir/b"), "stashed\n")
			agent(t, r.Path, "stash", "-q")
			write(t, filepath.Join(r.Path, "a"), "staged\n")
			agent(t, r.Path, "add", "a")
			write(t, filepath.Join(r.Path, "a"), "and changed\n")
			write(t, filepath.Join(r.Path, "new\n\"name"), "x")
			write(t, filepath.Join(r.Path, "noise.log"), "ignored")
			write(t, filepath.Join(r.Path, "own"), "ignored by the repository's own list")
			_, common := h.gitDirs(r)
			write(t, filepath.Join(common, "info/exclude"), "own\n")
			check(t, os.Remove(filepath.Join(r.Path, "link")))
			check(t, os.Symlink("/etc/passwd", filepath.Join(r.Path, "link")))

			c, made := checkpoint(t, h, r)
			if !made || c.Number != 1 || c.Head != r.BaseCommit || c.Warnings != "" {
				t.Fatalf("made %v: %+v", made, c)
			}
			want := files(t, r.Path)
			delete(want, "noise.log")
			delete(want, "own")
			same(t, "the checkpoint", rebuilt(t, h, r, c), want)
			if again, made := checkpoint(t, h, r); made || again.Number != 1 {
				t.Errorf("an equal tree made %+v", again)
			}

			// A commit makes a new checkpoint even if the tree is the same: the history must be kept too.
			agent(t, r.Path, "add", "-A")
			agent(t, r.Path, "commit", "-q", "-m", "by the agent")
			c, made = checkpoint(t, h, r)
			if !made || c.Number != 2 || c.Head != agent(t, r.Path, "rev-parse", "HEAD") {
				t.Fatalf("made %v: %+v", made, c)
			}
			if got := agent(t, h.private(h.Git, r.ID).Dir, "log", "--format=%s", "refs/svc/2"); got !=
				"checkpoint 2 of workspace "+r.ID+"\nby the agent\nsecond\nfirst" {
				t.Errorf("history %q", got)
			}
		})
	}
}

func TestAnIndexThatCannotBeReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(index, shared string){
		"half an index":  func(index, _ string) { check(t, os.Truncate(index, 20)) },
		"no second file": func(_, shared string) { check(t, os.Remove(shared)) },
		"half of it":     func(_, shared string) { check(t, os.Truncate(shared, 20)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
			write(t, filepath.Join(r.Path, "a"), "kept\n")
			write(t, filepath.Join(r.Path, "forced.log"), "ignored and added")
			agent(t, r.Path, "add", "-f", "forced.log")
			first, _ := checkpoint(t, h, r)
			shared, err := filepath.Glob(filepath.Join(h.private(h.Git, r.ID).Dir, "sharedindex.*"))
			if check(t, err); len(shared) != 1 {
				t.Fatalf("the index has the second files %q", shared)
			}
			spoil(h.keep(r.ID, "index"), shared[0])
			if c, made := checkpoint(t, h, r); made || c.Commit != first.Commit || c.Warnings != "" {
				t.Errorf("an equal tree made %+v", c)
			}
			write(t, filepath.Join(r.Path, "b"), "new\n")
			c, made := checkpoint(t, h, r)
			if !made || c.Number != 2 {
				t.Errorf("made %v: %+v", made, c)
			}
			same(t, "the checkpoint", rebuilt(t, h, r, c), files(t, r.Path))
		})
	}
}

func TestIgnoredFilesAreKeptWhenTheAgentTracksThem(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			r := prepare(t, h, orderOf(newOrigin(t), isolation))
			has := func(want ...string) {
				t.Helper()
				c, _ := checkpoint(t, h, r)
				kept := rebuilt(t, h, r, c)
				for _, name := range []string{"secret", "forced.log", "noise.log"} {
					if _, ok := kept[name]; ok != slices.Contains(want, name) {
						t.Errorf("checkpoint %d has %s: %v", c.Number, name, ok)
					}
				}
			}
			write(t, filepath.Join(r.Path, "noise.log"), "ignored")
			write(t, filepath.Join(r.Path, "forced.log"), "ignored and added")
			write(t, filepath.Join(r.Path, "secret"), "kept until there is a rule")
			has("secret")
			agent(t, r.Path, "add", "-f", "forced.log") // only the agent's index changes
			has("secret", "forced.log")
			write(t, filepath.Join(r.Path, "sub/.gitignore"), "")
			write(t, filepath.Join(r.Path, ".gitignore"), "*.log\nsecret\n")
			has("forced.log")
			has("forced.log")
			_, common := h.gitDirs(r)
			write(t, filepath.Join(r.Path, ".gitignore"), "*.log\n")
			has("forced.log", "secret")
			write(t, filepath.Join(common, "info/exclude"), "secret\n")
			has("forced.log")
			agent(t, r.Path, "add", "-f", "secret")
			agent(t, r.Path, "rm", "-q", "--cached", "forced.log")
			has("secret")
			write(t, filepath.Join(r.Path, "secret"), "changed")
			has("secret")
			check(t, os.Remove(filepath.Join(r.Path, "secret")))
			has()
		})
	}
}

func TestACheckpointStandsWithoutTheAgentsRepository(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "a"), "committed\n")
	agent(t, r.Path, "commit", "-q", "-am", "by the agent")
	write(t, filepath.Join(r.Path, "staged"), "in the agent's objects already\n")
	agent(t, r.Path, "add", "-A")
	first, _ := checkpoint(t, h, r)
	want := files(t, r.Path)

	check(t, os.RemoveAll(filepath.Join(r.Path, ".git")))
	same(t, "a checkpoint from before", rebuilt(t, h, r, first), want)
	write(t, filepath.Join(r.Path, "later"), "x")
	second, made := checkpoint(t, h, r)
	if !made || second.Head != first.Head {
		t.Errorf("made %v: %+v", made, second)
	}
	same(t, "a checkpoint from after", rebuilt(t, h, r, second), files(t, r.Path))

	// A new repository with another history at the same path.
	agent(t, r.Path, "init", "-q", "-b", "fresh")
	agent(t, r.Path, "add", "-A")
	agent(t, r.Path, "commit", "-q", "-m", "unrelated")
	third, made := checkpoint(t, h, r)
	if !made || third.Head != agent(t, r.Path, "rev-parse", "HEAD") {
		t.Errorf("made %v: %+v", made, third)
	}
	if _, err := h.Export(t.Context(), r.ID, 1<<20); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatIsGoneOrALinkIsMissing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "a"), "x")
	checkpoint(t, h, r)
	check(t, os.Rename(r.Path, r.Path+".away"))
	if c, _, err := h.Checkpoint(t.Context(), r.ID); !errors.Is(err, ErrMissing) || c.Number != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	check(t, os.Symlink("/etc", r.Path))
	if _, _, err := h.Checkpoint(t.Context(), r.ID); !errors.Is(err, ErrMissing) {
		t.Errorf("a link was followed: %v", err)
	}
	if _, _, err := h.Checkpoint(t.Context(), svc.NewWorkspaceID()); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestRepositoriesInsideAreKeptAsFilesAndSubmodulesAsTheyAre(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	agent(t, origin, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", newOrigin(t), "sub")
	agent(t, origin, "commit", "-q", "-m", "submodule")
	r := prepare(t, h, orderOf(origin, svc.IsolationClone))
	agent(t, r.Path, "clone", "-q", r.Path, "deep/nested")
	agent(t, filepath.Join(r.Path, "deep/nested"), "clone", "-q", r.Path, "inner")
	write(t, filepath.Join(r.Path, "deep/nested/mine"), "x")
	write(t, filepath.Join(r.Path, "deep/nested/noise.log"), "x")
	check(t, os.Mkdir(filepath.Join(r.Path, "unborn"), 0o755))
	agent(t, filepath.Join(r.Path, "unborn"), "init", "-q")
	write(t, filepath.Join(r.Path, "unborn/file"), "x")

	c, _ := checkpoint(t, h, r)
	got := rebuilt(t, h, r, c)
	for _, name := range []string{"deep/nested/mine", "deep/nested/a", "deep/nested/inner/a", "unborn/file"} {
		if got[name] == "" {
			t.Errorf("%s is not kept", name)
		}
	}
	if got["deep/nested/noise.log"] != "" {
		t.Error("an ignored file is kept")
	}
	private := h.private(h.Git, r.ID).Dir
	if got := agent(t, private, "ls-tree", "refs/svc/1", "sub"); !strings.HasPrefix(got, "160000 commit") {
		t.Errorf("the submodule is %q", got)
	}
	write(t, filepath.Join(r.Path, "deep/nested/later"), "x")
	c, made := checkpoint(t, h, r)
	if got := rebuilt(t, h, r, c); !made || got["deep/nested/later"] == "" {
		t.Errorf("made %v; what came later is not kept", made)
	}
	if c, made := checkpoint(t, h, r); made {
		t.Errorf("an equal tree made %+v", c)
	}
}

func TestAttributesThatCannotBeMetDoNotKeepFilesFromBeingKept(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, ".gitattributes"), "*.txt working-tree-encoding=UTF-16\n*.pic filter=missing\n")
	write(t, filepath.Join(r.Path, "odd.txt"), "no UTF-16\xff")
	write(t, filepath.Join(r.Path, "large.pic"), "pixels")
	write(t, filepath.Join(r.Path, "a"), "x\r\ny\n")
	c, made := checkpoint(t, h, r)
	if !made || c.Warnings != "" {
		t.Fatalf("made %v: %+v", made, c)
	}
	private := h.private(h.Git, r.ID).Dir
	for name, want := range map[string]string{"odd.txt": "no UTF-16\xff", "large.pic": "pixels", "a": "x\r\ny"} {
		if got := agent(t, private, "cat-file", "blob", "refs/svc/1:"+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestConflictsOfAnOperationUnderWayAreTold(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "a"), "mine\n")
	agent(t, r.Path, "commit", "-q", "-am", "mine")
	agent(t, r.Path, "checkout", "-q", "-b", "theirs", r.BaseCommit)
	write(t, filepath.Join(r.Path, "a"), "theirs\n")
	agent(t, r.Path, "commit", "-q", "-am", "theirs")
	if out, err := tryAgent(r.Path, "rebase", r.Branch); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	c, _ := checkpoint(t, h, r)
	if !slices.Equal(c.Conflicts, []string{"a"}) {
		t.Errorf("conflicts %q", c.Conflicts)
	}
	agent(t, r.Path, "rebase", "--abort")
	if c, _ := checkpoint(t, h, r); len(c.Conflicts) > 0 {
		t.Errorf("conflicts %q", c.Conflicts)
	}
}

func TestACheckpointIsExportedOnceAndRestoredElsewhere(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	r := prepare(t, h, orderOf(origin, svc.IsolationClone))
	if _, err := h.Export(t.Context(), r.ID, 1<<20); !errors.Is(err, ErrNotReady) {
		t.Errorf("there is nothing to export: %v", err)
	}
	write(t, filepath.Join(r.Path, "dir/c"), "committed\n")
	agent(t, r.Path, "add", "-A")
	agent(t, r.Path, "commit", "-q", "-m", "by the agent")
	checkpoint(t, h, r)
	write(t, filepath.Join(r.Path, "a"), "not committed\n")
	check(t, os.Remove(filepath.Join(r.Path, "dir/b")))
	write(t, filepath.Join(r.Path, "binary"), "\x00\xff\n")
	c, _ := checkpoint(t, h, r)

	for _, limit := range []int64{10, 600} { // the bundle, the patch
		if _, err := h.Export(t.Context(), r.ID, limit); !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("limit %d: error %v, want ErrTooLarge", limit, err)
		}
	}
	e, err := h.Export(t.Context(), r.ID, 1<<20)
	check(t, err)
	if e.Number != 2 || e.From != r.BaseCommit || e.Stat != (git.Stat{Files: 4, Additions: 2, Deletions: 2}) {
		t.Errorf("export %+v", e)
	}
	bundle, err := os.ReadFile(e.Bundle)
	check(t, err)
	patch, err := os.ReadFile(e.Patch)
	check(t, err)
	if again, err := h.Export(t.Context(), r.ID, 10); err != nil || again != e { // the files exist already
		t.Errorf("again: %+v, %v", again, err)
	}

	// The patch alone turns the base into the same tree.
	plain := filepath.Join(t.TempDir(), "plain")
	agent(t, origin, "clone", "-q", origin, plain)
	write(t, filepath.Join(t.TempDir(), "x"), "")
	agent(t, plain, "apply", e.Patch)
	same(t, "the patched base", files(t, plain), files(t, r.Path))
	if !bytes.Contains(patch, []byte("GIT binary patch")) {
		t.Error("the patch has no binary file")
	}

	// So does the bundle, in any clone of the repository.
	agent(t, plain, "reset", "-q", "--hard")
	agent(t, plain, "clean", "-qfd")
	agent(t, plain, "fetch", "-q", e.Bundle, "refs/svc/2:refs/heads/fetched")
	agent(t, plain, "checkout", "-q", "fetched")
	same(t, "the fetched bundle", files(t, plain), files(t, r.Path))

	// And so does a new workspace on another host, which starts at this checkpoint.
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		write(t, filepath.Join(origin, "meanwhile"), string(isolation))
		agent(t, origin, "add", "-A")
		agent(t, origin, "commit", "-q", "-m", "meanwhile")
		file := filepath.Join(t.TempDir(), "bundle")
		write(t, file, string(bundle))
		elsewhere, o := newHost(t), orderOf(origin, isolation)
		o.Bundle, o.BundleBase = file, r.BaseCommit
		restored := prepare(t, elsewhere, o)
		same(t, "the restored workspace", files(t, restored.Path), files(t, r.Path))
		if got := agent(t, restored.Path, "log", "--format=%s"); got != "by the agent\nsecond\nfirst" {
			t.Errorf("history %q", got)
		}
		if got := agent(t, restored.Path, "status", "--porcelain"); got != "M a\n D dir/b\n?? binary" {
			t.Errorf("status %q", got)
		}
		if restored.Newest.Commit != c.Commit || restored.Relayed != 2 || restored.BaseCommit != r.BaseCommit {
			t.Errorf("record %+v", restored)
		}
		if _, made := checkpoint(t, elsewhere, restored); made {
			t.Error("an untouched restored workspace made a checkpoint")
		}
		write(t, filepath.Join(restored.Path, "a"), "more\n")
		if next, made := checkpoint(t, elsewhere, restored); !made || next.Number != 3 {
			t.Errorf("made %v: %+v", made, next)
		}
		if _, err := elsewhere.Export(t.Context(), restored.ID, 1<<20); err != nil {
			t.Error(err)
		}
	}

	check(t, h.Acknowledge(t.Context(), r.ID, 2))
	if r, err := h.Record(r.ID); err != nil || r.Relayed != 2 {
		t.Errorf("record %+v, %v", r, err)
	}
	if left, err := os.ReadDir(h.keep(r.ID, "out")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	check(t, h.Acknowledge(t.Context(), r.ID, 7)) // a checkpoint that does not exist: it is ignored
	if r, err := h.Record(r.ID); err != nil || r.Relayed != 2 {
		t.Errorf("record %+v, %v", r, err)
	}
}

func TestADamagedBundleRestoresNothing(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	file := filepath.Join(t.TempDir(), "bundle")
	write(t, file, "# v2 git bundle\nnonsense")
	h, o := newHost(t), orderOf(origin, svc.IsolationClone)
	o.Bundle, o.BundleBase = file, agent(t, origin, "rev-parse", "main")
	if r, err := h.Prepare(t.Context(), o); err == nil || r.Ready() {
		t.Errorf("%+v, %v", r, err)
	}
}
