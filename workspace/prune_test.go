package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc"
)

func TestAMirrorGoesWhenNoWorkspaceNeedsIt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	used, unused, shared := newOrigin(t), newOrigin(t), newOrigin(t)
	prepare(t, h, orderOf(used, svc.IsolationClone))
	gone := prepare(t, h, orderOf(unused, svc.IsolationClone))
	tree := prepare(t, h, orderOf(shared, svc.IsolationWorktree))
	for _, id := range []string{gone.ID, tree.ID} {
		check(t, h.Remove(t.Context(), id, Parting{}))
	}
	prune := func(before time.Time, dry bool) int {
		t.Helper()
		n, err := h.PruneMirrors(t.Context(), before, dry)
		check(t, err)
		return n
	}
	if n := prune(time.Now().Add(-time.Hour), false); n != 0 {
		t.Errorf("%d mirrors went that were just used", n)
	}
	later := time.Now().Add(time.Hour)
	if n := prune(later, true); n != 1 {
		t.Errorf("%d mirrors would go, want that of the removed clone: the branches of worktrees stay", n)
	}
	check(t, os.MkdirAll(h.keep(gone.ID, ""), 0o700))
	check(t, os.WriteFile(h.recordPath(gone.ID), []byte("broken"), 0o600)) // only this unreadable record may need the mirror
	_, err := h.PruneMirrors(t.Context(), later, false)
	if _, stays := os.Stat(h.mirror(unused)); err == nil && stays != nil {
		t.Error("a mirror went though not every record could be read")
	}
	check(t, os.RemoveAll(h.keep(gone.ID, "")))
	if n := prune(later, false); n != 1 {
		t.Errorf("%d mirrors went", n)
	}
	for repo, want := range map[string]bool{used: true, unused: false, shared: true} {
		if _, err := os.Stat(h.mirror(repo)); (err == nil) != want {
			t.Errorf("the mirror of %s: %v", repo, err)
		}
	}
	prepare(t, h, orderOf(unused, svc.IsolationClone)) // it is made again
}

func TestASetupThatWasLeftOutIsRunBeforeTheFirstAgentAndTouchesNothingElse(t *testing.T) {
	t.Parallel()
	h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
	o.Source.Setup, o.NoSetup = "echo x >> setups; exit 4", true
	r := prepare(t, h, o)
	prepare(t, h, o) // a second call returns the same
	if _, err := os.Stat(filepath.Join(r.Path, "setups")); err == nil || !r.SetupDue {
		t.Fatalf("setup was run, or is not due: %+v", r)
	}
	write(t, filepath.Join(r.Path, "by-hand"), "kept\n")
	o.NoSetup = false
	if _, err := h.Prepare(t.Context(), o); err == nil || err.Error() != "setup_failed: exit 4" {
		t.Fatalf("error %v", err)
	}
	if got, err := h.Record(o.ID); err != nil || got.State() != svc.WorkspaceFailed || !got.Ready() {
		t.Errorf("record %+v, %v", got, err)
	}
	o.Source.Setup = "echo x >> setups"
	prepare(t, h, o)
	prepare(t, h, o) // the next run in it
	for name, want := range map[string]string{"by-hand": "kept\n", "setups": "x\nx\n"} {
		if got, err := os.ReadFile(filepath.Join(r.Path, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	if h.Size(o.ID) == 0 {
		t.Error("it has no size")
	}
}
