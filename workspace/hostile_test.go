package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/git"
)

// limitedMemory skips the test on systems without a limit of a process's memory.
func limitedMemory(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does svc limit the memory of git")
	}
}

// An agent owns its working copy, including the repository in it. The agents of these tests attack svc with it.

// ran returns the planted programs that were executed since its last call. Each leaves a mark.
func ran(t *testing.T, marks string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(marks)
	check(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
		check(t, os.Remove(filepath.Join(marks, entry.Name())))
	}
	return names
}

// ranNone returns a check that an operation succeeded and that no planted program was executed.
func ranNone(t *testing.T, marks string) func(what string, err error) {
	return func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := ran(t, marks); len(got) > 0 {
			t.Errorf("%s executed %q", what, got)
		}
	}
}

func TestPipesWhereGitReadsFilesStallNoCheckpoint(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	agent(t, r.Path, "commit", "-q", "--allow-empty", "-m", "by the agent")
	write(t, filepath.Join(r.Path, "sub", "new"), "x\n")
	objects := filepath.Join(r.Path, ".git", "objects")
	check(t, os.MkdirAll(filepath.Join(objects, "info"), 0o755))
	own := filepath.Join(r.Path, "own.pipe")
	for _, pipe := range []string{
		filepath.Join(r.Path, "sub", ".gitignore"), filepath.Join(r.Path, "sub", ".gitattributes"), filepath.Join(objects, "info", "alternates"), own,
	} {
		check(t, syscall.Mkfifo(pipe, 0o600))
	}
	c, made := checkpoint(t, h, r)
	if !made || c.Number != 1 {
		t.Errorf("made %v: %+v", made, c)
	}
	if got := rebuilt(t, h, r, c)["sub/new"]; !strings.Contains(got, "x") {
		t.Errorf("the new file has %q", got)
	}
}

func TestAFileOfAnySizeIsNotReadAsAWholeByGit(t *testing.T) {
	t.Parallel()
	limitedMemory(t)
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	path := filepath.Join(r.Path, "sub", ".gitignore")
	write(t, path, "")
	check(t, os.Truncate(path, 3<<30))
	// Git reports that it has no memory, or is ended by a signal where it does not check an allocation.
	if _, _, err := h.Checkpoint(t.Context(), r.ID); err == nil || !strings.Contains(err.Error(), "memory") && !strings.Contains(err.Error(), "segmentation fault") {
		t.Errorf("with 3 GiB of rules: %v", err)
	}
	check(t, os.Truncate(path, 0))
	if _, made := checkpoint(t, h, r); !made {
		t.Error("no checkpoint without them")
	}
}

// TestAFileThatTakesTooMuchMemoryIsOnThisHostOnly checkpoints a large file that uses no space on the disk.
func TestAFileThatTakesTooMuchMemoryIsOnThisHostOnly(t *testing.T) {
	t.Parallel()
	limitedMemory(t)
	h := newHost(t)
	h.Git.Memory = 24 << 20
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	path := filepath.Join(r.Path, "zeros")
	write(t, path, "")
	check(t, os.Truncate(path, 30<<20))
	if _, made := checkpoint(t, h, r); !made {
		t.Fatal("no checkpoint")
	}
	if _, err := h.Export(t.Context(), r.ID, 1<<30); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("exported: %v", err)
	}
}

func TestAPipeInASharedRepositoryStallsNoNeighbour(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	first := prepare(t, h, orderOf(origin, svc.IsolationWorktree))
	ref := filepath.Join(h.shared(origin), "refs", "remotes", "origin", first.BaseRef)
	check(t, os.Remove(ref))
	check(t, syscall.Mkfifo(ref, 0o600))
	if second := prepare(t, h, orderOf(origin, svc.IsolationWorktree)); !second.Ready() {
		t.Errorf("%+v", second)
	}
}

// TestABaseThatIsNoCommitIsNotFetched uses a refspec, sent by another host, as the base of a checkpoint. It would
// rewrite the branches of this host's mirror.
func TestABaseThatIsNoCommitIsNotFetched(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	r := prepare(t, h, orderOf(origin, svc.IsolationClone))
	write(t, filepath.Join(r.Path, "new"), "x\n")
	checkpoint(t, h, r)
	e, err := h.Export(t.Context(), r.ID, 1<<20)
	check(t, err)
	agent(t, origin, "branch", "evil")
	o := orderOf(origin, svc.IsolationClone)
	o.Bundle, o.BundleBase = e.Bundle, "refs/heads/evil:refs/heads/svc-planted"
	if got, err := h.Prepare(t.Context(), o); err == nil || got.Ready() {
		t.Errorf("%+v, %v", got, err)
	}
	mirror := git.Repo{Program: h.Git, Dir: h.mirror(origin)}
	if oid, err := mirror.Commit(t.Context(), "refs/heads/svc-planted"); err == nil {
		t.Errorf("the mirror has a branch at %s that nobody made", oid)
	}
}

// TestNothingThatAnAgentWroteIsRunByAnyOperation plants programs in the repository of a working copy, in one inside
// it and in the folder that it is a copy of, and runs every operation on a workspace.
func TestNothingThatAnAgentWroteIsRunByAnyOperation(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			ctx, origin, h, marks := t.Context(), newOrigin(t), newHost(t), t.TempDir()
			write(t, filepath.Join(origin, ".gitattributes"), "* merge=evil diff=evil filter=evil\n*.bin filter=proc\n")
			agent(t, origin, "add", "-A")
			agent(t, origin, "commit", "-q", "-m", "attributes")
			o := orderOf(origin, isolation)
			r := prepare(t, h, o)
			agent(t, r.Path, "clone", "-q", origin, "nested")
			agent(t, origin, "switch", "-q", "-c", "aside") // otherwise main is checked out there
			inCopy := filepath.Join(r.Path, ".git")
			if isolation == svc.IsolationWorktree {
				inCopy = h.shared(origin)
			}
			for _, dir := range []string{inCopy, filepath.Join(r.Path, "nested", ".git"), filepath.Join(origin, ".git")} {
				plant(t, dir, marks)
			}
			write(t, filepath.Join(r.Path, "new.bin"), "1")
			write(t, filepath.Join(r.Path, "a"), "changed\n")
			// The traps work: git itself runs them.
			_, _ = tryAgent(r.Path, "status")
			_, _ = tryAgent(r.Path, "diff")
			if got := ran(t, marks); len(got) < 2 {
				t.Fatalf("git executed only %q", got)
			}
			none := ranNone(t, marks)
			c, made, err := h.Checkpoint(ctx, r.ID)
			if none("a checkpoint", err); !made {
				t.Fatal("no checkpoint")
			}
			e, err := h.Export(ctx, r.ID, 1<<20)
			none("an export", err)
			elsewhere, restore := newHost(t), orderOf(origin, isolation)
			restore.Bundle, restore.BundleBase = filepath.Join(t.TempDir(), "bundle"), r.BaseCommit
			text, err := os.ReadFile(e.Bundle)
			check(t, err)
			write(t, restore.Bundle, string(text))
			_, err = elsewhere.Prepare(ctx, restore)
			none("a restore elsewhere", err)
			_, err = h.Prepare(ctx, o)
			none("another use", err)
			_, err = h.Prepare(ctx, orderOf(origin, isolation))
			none("a neighbour's preparation", err)
			none("a receipt", h.Acknowledge(ctx, r.ID, c.Number))
			none("a loss", h.Lost(ctx, r.ID, c.Number))
			none("another receipt", h.Acknowledge(ctx, r.ID, c.Number))
			for _, how := range []svc.LandHow{svc.LandPush, svc.LandMerge, svc.LandSquash} {
				order := svc.LandOrder{ID: svc.NewID(), Checkpoint: c.Number, How: how, Into: "main", Message: "m", By: "anna", At: 1}
				if how == svc.LandPush {
					order.Into = r.Branch
				}
				out, err := h.Land(ctx, r.ID, order)
				none("a landing", err)
				if how != svc.LandSquash && out.State != svc.LandingDone { // the merge before has landed everything
					t.Errorf("%s: %+v", how, out)
				}
			}
			none("a removal", h.Remove(ctx, r.ID, Parting{}))
			_, err = h.PruneMirrors(ctx, time.Now().Add(time.Hour), false)
			none("a pruning", err)
		})
	}
}
