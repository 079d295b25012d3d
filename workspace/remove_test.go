package workspace

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"svc"
)

// refused checks that a workspace is not removed, for these reasons, and still exists.
func refused(t *testing.T, h Host, r Record, p Parting, want ...svc.UnsafeReason) {
	t.Helper()
	before := everything(t, r.Path)
	err := h.Remove(t.Context(), r.ID, p)
	var unsafe *NotSafe
	if !errors.As(err, &unsafe) || !slices.Equal(unsafe.Reasons, want) {
		t.Fatalf("error %v, want reasons %q", err, want)
	}
	same(t, "the folder after a refused removal", everything(t, r.Path), before)
	if r, err := h.Record(r.ID); err != nil || !r.Ready() {
		t.Fatalf("record %+v, %v", r, err)
	}
}

// nothingLeft checks that a removed workspace has left only its mirror.
func nothingLeft(t *testing.T, h Host, r Record) {
	t.Helper()
	for _, path := range []string{r.Path, h.removing(r.ID), h.keep(r.ID, "")} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if all, err := h.Records(); err != nil || len(all) > 0 {
		t.Errorf("records %v, %v", all, err)
	}
}

func TestAWorkspaceIsRemovedOnlyWhenNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			r := prepare(t, h, orderOf(newOrigin(t), isolation))
			refused(t, h, r, Parting{Run: true}, svc.UnsafeRun)
			write(t, filepath.Join(r.Path, "work"), "x")
			refused(t, h, r, Parting{}, svc.UnsafeRelay)
			refused(t, h, r, Parting{GiveUp: "another tree"}, svc.UnsafeRelay)

			inside := exec.CommandContext(t.Context(), "cat")
			inside.Dir = r.Path
			stdin, err := inside.StdinPipe()
			check(t, err)
			check(t, inside.Start())
			refused(t, h, r, Parting{}, svc.UnsafeProcess, svc.UnsafeRelay)
			check(t, stdin.(io.Closer).Close())
			check(t, inside.Wait())

			check(t, h.Acknowledge(t.Context(), r.ID, 1))
			write(t, filepath.Join(r.Path, "work"), "and more, after it was relayed")
			refused(t, h, r, Parting{}, svc.UnsafeRelay)
			check(t, h.Acknowledge(t.Context(), r.ID, 2))
			check(t, h.Lost(t.Context(), r.ID, 3)) // the orchestrator never had that checkpoint
			check(t, h.Lost(t.Context(), r.ID, 2))
			refused(t, h, r, Parting{}, svc.UnsafeRelay)
			check(t, h.Acknowledge(t.Context(), r.ID, 2))
			check(t, os.Chmod(filepath.Join(r.Path, "dir"), 0o500))
			check(t, h.Remove(t.Context(), r.ID, Parting{}))
			nothingLeft(t, h, r)
			if isolation == svc.IsolationWorktree {
				if _, err := os.Lstat(filepath.Join(h.shared(r.Source.Repo), "worktrees", r.ID)); err == nil {
					t.Error("the worktree is still known")
				}
			}
			if err := h.Remove(t.Context(), r.ID, Parting{}); !errors.Is(err, ErrUnknown) {
				t.Errorf("removed twice: %v", err)
			}
		})
	}
}

func TestATreeThatIsNamedMayBeGivenUp(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "work"), "x")
	c, _ := checkpoint(t, h, r)
	write(t, filepath.Join(r.Path, "work"), "more")
	refused(t, h, r, Parting{GiveUp: c.Tree}, svc.UnsafeRelay)
	c, _ = checkpoint(t, h, r)
	refused(t, h, r, Parting{GiveUp: c.Tree, Run: true}, svc.UnsafeRun)
	check(t, h.Remove(t.Context(), r.ID, Parting{GiveUp: c.Tree}))
	nothingLeft(t, h, r)
}

func TestWhatWasLandedMayGo(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "work"), "x")
	checkpoint(t, h, r)
	write(t, filepath.Join(r.Path, "work"), "changed after it was landed")
	refused(t, h, r, Parting{Landed: 1}, svc.UnsafeRelay)
	check(t, h.Remove(t.Context(), r.ID, Parting{Landed: 2}))
	nothingLeft(t, h, r)
}

func TestWhatCannotBeInspectedStays(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	agent(t, origin, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", newOrigin(t), "sub")
	agent(t, origin, "commit", "-q", "-m", "submodule")
	r := prepare(t, h, orderOf(origin, svc.IsolationClone))
	agent(t, r.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	refused(t, h, r, Parting{}, svc.UnsafeUnknown)
	agent(t, r.Path, "submodule", "--quiet", "deinit", "--all", "--force")

	check(t, os.Mkdir(filepath.Join(r.Path, ".GIT"), 0o755)) // a name that git does not store
	write(t, filepath.Join(r.Path, ".GIT/work"), "x")
	refused(t, h, r, Parting{}, svc.UnsafeUnknown)
	check(t, os.RemoveAll(filepath.Join(r.Path, ".GIT")))
	check(t, h.Remove(t.Context(), r.ID, Parting{}))
}

func TestAMissingFolderIsRemovedWhenItsLastCheckpointIsSafe(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	write(t, filepath.Join(r.Path, "work"), "x")
	checkpoint(t, h, r)
	check(t, os.RemoveAll(r.Path))
	var unsafe *NotSafe
	if err := h.Remove(t.Context(), r.ID, Parting{}); !errors.As(err, &unsafe) {
		t.Fatalf("error %v", err)
	}
	check(t, h.Acknowledge(t.Context(), r.ID, 1))
	check(t, h.Remove(t.Context(), r.ID, Parting{}))
	nothingLeft(t, h, r)
}

func TestAFailedPreparationIsRemoved(t *testing.T) {
	t.Parallel()
	h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
	o.Source.Setup = "touch by-setup; false"
	if _, err := h.Prepare(t.Context(), o); err == nil {
		t.Fatal("the setup did not fail")
	}
	check(t, h.Remove(t.Context(), o.ID, Parting{}))
	nothingLeft(t, h, Record{ID: o.ID, Path: h.Path(o.ID)})
}

func TestWhoeverWritesDuringARemovalGetsTheFolderBack(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	late := h
	late.at = func(step Step) {
		if step == StepRemove { // inspected, and not yet moved aside
			write(t, filepath.Join(r.Path, "late"), "x")
		}
	}
	err := late.Remove(t.Context(), r.ID, Parting{})
	var unsafe *NotSafe
	if !errors.As(err, &unsafe) {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.Path, "late")); err != nil {
		t.Fatal(err)
	}
	if c, made := checkpoint(t, h, r); !made || c.Number != 1 {
		t.Errorf("made %v: %+v", made, c)
	}
}
