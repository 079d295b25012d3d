package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
)

func TestAWorkingCopyIsPreparedOnItsOwnBranch(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			origin, h := newOrigin(t), newHost(t)
			o := orderOf(origin, isolation)
			var told []Step
			var out bytes.Buffer
			o.Tell = func(step Step) { told = append(told, step) }
			o.Out = &out
			o.Source.Setup = `echo "in $PWD at $SVC_BASE_COMMIT"; test "$SVC_WORKSPACE" = "$PWD"; echo made > made.log`
			r := prepare(t, h, o)

			if want := []Step{StepFetch, StepCheckout, StepInclude, StepSetup}; !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
			base := agent(t, origin, "rev-parse", "main")
			if r.BaseRef != "main" || r.BaseCommit != base || r.BaseFetchedAt == 0 || r.Path != h.Path(o.ID) {
				t.Errorf("record %+v", r)
			}
			if !strings.Contains(out.String(), "in "+r.Path+" at "+base) {
				t.Errorf("output %q", out.String())
			}
			want := files(t, origin)
			want["made.log"] = `file executable=false "made\n"`
			same(t, "files", files(t, r.Path), want)
			for what, got := range map[string][2]string{
				"branch":  {agent(t, r.Path, "branch", "--show-current"), o.Branch},
				"HEAD":    {agent(t, r.Path, "rev-parse", "HEAD"), base},
				"origin":  {agent(t, r.Path, "remote", "get-url", "origin"), origin},
				"remote":  {agent(t, r.Path, "rev-parse", "origin/main"), base},
				"status":  {agent(t, r.Path, "status", "--porcelain"), ""},
				"history": {agent(t, r.Path, "log", "--format=%s"), "second\nfirst"},
			} {
				if got[0] != got[1] {
					t.Errorf("%s is %q, want %q", what, got[0], got[1])
				}
			}

			// A workspace that is ready stays unchanged, whatever happens to the repository.
			write(t, filepath.Join(r.Path, "mine"), "x")
			check(t, os.Rename(origin, origin+".away"))
			again := prepare(t, h, o)
			if again.BaseCommit != base {
				t.Errorf("prepared again: %+v", again)
			}
			if _, err := os.Stat(filepath.Join(r.Path, "mine")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheBaseIsFetchedBeforeEachUse(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	prepare(t, h, orderOf(origin, svc.IsolationClone))
	write(t, filepath.Join(origin, "a"), "3\n")
	agent(t, origin, "commit", "-q", "-am", "third")
	if r := prepare(t, h, orderOf(origin, svc.IsolationClone)); r.BaseCommit != agent(t, origin, "rev-parse", "main") {
		t.Error("the base is stale")
	}
	o := orderOf(origin, svc.IsolationClone)
	o.Source.Base = "other"
	if r := prepare(t, h, o); r.BaseCommit != agent(t, origin, "rev-parse", "other") || r.BaseRef != "other" {
		t.Errorf("record %+v", r)
	}
	// A rewritten history is fetched too.
	agent(t, origin, "reset", "-q", "--hard", "v1")
	if r := prepare(t, h, orderOf(origin, svc.IsolationWorktree)); r.BaseCommit != agent(t, origin, "rev-parse", "v1") {
		t.Error("the base was rewritten and is not followed")
	}
}

func TestABaseThatCannotBeFetchedFailsTheWorkspace(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	agent(t, empty, "init", "-q")
	noBranch := orderOf(newOrigin(t), svc.IsolationClone)
	noBranch.Source.Base = "missing"
	for says, o := range map[string]Order{
		"base_unavailable: the repository has no branch \"missing\"": noBranch,
		"base_unavailable: the repository has no commits":            orderOf(empty, svc.IsolationClone),
		"does not appear to be a git repository":                     orderOf(filepath.Join(empty, "none"), svc.IsolationWorktree),
		"unable to access":                                           orderOf("http://127.0.0.1:1/x.git", svc.IsolationClone),
	} {
		h := newHost(t)
		_, err := h.Prepare(t.Context(), o)
		var failure *Failure
		if !errors.As(err, &failure) || failure.Kind != svc.BaseUnavailable || !strings.Contains(failure.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
		r, err := h.Record(o.ID)
		if err != nil || r.State() != svc.WorkspaceFailed || !strings.Contains(r.Error, says) {
			t.Errorf("record %+v, %v", r, err)
		}
		if _, err := os.Lstat(r.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a folder: %v", err)
		}
	}
}

func TestABaseWithoutTheWorkThatItsTaskNeedsFailsTheWorkspace(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	second := agent(t, origin, "rev-parse", "main") // the branch other does not have it
	gone := strings.Repeat("a", 40)
	for _, c := range []struct{ base, needs, says string }{
		{"main", second, ""}, {"main", agent(t, origin, "rev-parse", "other"), ""},
		{"other", second, "base_lacks: " + second + " of the API"}, {"main", gone, "base_lacks: " + gone + " of the API"},
	} {
		o := orderOf(origin, svc.IsolationClone)
		o.Source.Base, o.Needs = c.base, []svc.NeededCommit{{Commit: c.needs, Title: "the API"}}
		r, err := h.Prepare(t.Context(), o)
		if c.says == "" {
			check(t, err)
			continue
		}
		var failure *Failure
		if !errors.As(err, &failure) || failure.Error() != c.says || r.State() != svc.WorkspaceFailed || r.Error != c.says {
			t.Errorf("%s from %s: error %v, record %+v", c.needs, c.base, err, r)
		}
		if _, err := os.Lstat(r.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a folder: %v", err)
		}
	}
}

func TestAStaleMirrorIsNeverTakenForTheBase(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	prepare(t, h, orderOf(origin, svc.IsolationClone))
	check(t, os.Rename(origin, origin+".away"))
	o := orderOf(origin, svc.IsolationClone)
	var failure *Failure
	if _, err := h.Prepare(t.Context(), o); !errors.As(err, &failure) {
		t.Fatalf("error %v", err)
	}
	check(t, os.Rename(origin+".away", origin))
	prepare(t, h, o) // the next attempt starts again
}

func TestASetupThatFailsOrHangsFailsTheWorkspaceAndLeavesIt(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	for says, script := range map[string]string{
		"setup_failed: exit 3":              "touch was-here; exit 3",
		"setup_failed: exit 1":              "false\ntouch not-reached",
		"setup_failed: exit 2":              "touch was-here; echo $undefined_variable",
		"setup_failed: took longer than 1s": "touch was-here; sleep 600 & wait",
	} {
		h, o := newHost(t), orderOf(origin, svc.IsolationClone)
		o.Source.Setup, o.Source.SetupTimeout = script, time.Second
		if !strings.Contains(says, "took") {
			o.Source.SetupTimeout = time.Minute
		}
		_, err := h.Prepare(t.Context(), o)
		if err == nil || err.Error() != says {
			t.Errorf("error %v, want %q", err, says)
		}
		r, err := h.Record(o.ID)
		if err != nil || r.State() != svc.WorkspaceFailed || r.Error != says {
			t.Errorf("record %+v, %v", r, err)
		}
		if _, err := os.Stat(filepath.Join(r.Path, "a")); err != nil {
			t.Errorf("the folder is gone: %v", err)
		}
		o.Source.Setup = "test ! -e was-here" // the next attempt starts with an empty folder
		o.Source.SetupTimeout = time.Minute
		prepare(t, h, o)
	}
}

func TestASetupEndsWithItsRun(t *testing.T) {
	t.Parallel()
	h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
	o.Source.Setup = "sleep 600"
	ctx, cancel := context.WithCancel(t.Context())
	o.Tell = func(step Step) {
		if step == StepSetup {
			cancel()
		}
	}
	if _, err := h.Prepare(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if r, err := h.Record(o.ID); err != nil || r.State() != svc.WorkspacePreparing {
		t.Errorf("record %+v, %v", r, err)
	}
}

func TestIgnoredFilesThatAreNamedAreCopied(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	write(t, filepath.Join(origin, ".worktreeinclude"), ".env\ncache/\n*.log\n/a\nuntracked\n!cache/skip\n")
	write(t, filepath.Join(origin, ".env"), "KEY=1")
	check(t, os.Chmod(filepath.Join(origin, ".env"), 0o600))
	write(t, filepath.Join(origin, "untracked"), "not ignored")
	write(t, filepath.Join(origin, "cache/deep/file"), "c")
	check(t, os.Symlink("deep/file", filepath.Join(origin, "cache/inside")))
	check(t, os.Symlink(outside, filepath.Join(origin, "cache/outside")))
	check(t, os.Symlink("../../../../etc/passwd", filepath.Join(origin, "cache/upwards")))
	check(t, os.Symlink(filepath.Dir(outside), filepath.Join(origin, "dir.log")))
	write(t, filepath.Join(origin, "a"), "changed in the folder, not committed")

	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		r := prepare(t, h, orderOf(origin, isolation))
		got := files(t, r.Path)
		want := map[string]string{
			".env": `file executable=false "KEY=1"`, "cache/deep/file": `file executable=false "c"`, "cache/inside": "link to deep/file",
			"a": `file executable=false "2\n"`,
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s is %q, want %q", isolation, name, got[name], text)
			}
		}
		for _, name := range []string{"untracked", "cache/outside", "cache/upwards", "dir.log"} {
			if got[name] != "" {
				t.Errorf("%s: %s was copied: %q", isolation, name, got[name])
			}
		}
	}
}

func TestAFolderThatNoRecordSpeaksOfIsNotTouched(t *testing.T) {
	t.Parallel()
	h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
	write(t, filepath.Join(h.Path(o.ID), "precious"), "x")
	if _, err := h.Prepare(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not made by svc") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Path(o.ID), "precious")); err != nil {
		t.Error(err)
	}
}

func TestManyAtOnceGetOneWorkspaceEach(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	twice := orderOf(origin, svc.IsolationClone)
	twice.Source.Setup = "echo once >> count.log"
	orders := []Order{twice, twice}
	for range 2 {
		orders = append(orders, orderOf(origin, svc.IsolationClone), orderOf(origin, svc.IsolationWorktree))
	}
	var group sync.WaitGroup
	for _, o := range orders {
		group.Go(func() {
			if r, err := h.Prepare(t.Context(), o); err != nil || !r.Ready() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	group.Wait()
	if text, err := os.ReadFile(filepath.Join(h.Path(twice.ID), "count.log")); err != nil || string(text) != "once\n" {
		t.Errorf("setup ran %q, %v", text, err)
	}
	all, err := h.Records()
	if err != nil || len(all) != 5 {
		t.Errorf("%d records, %v", len(all), err)
	}
}

func TestNothingInASharedRepositoryIsExecutedForItsNeighbours(t *testing.T) {
	t.Parallel()
	origin, h := newOrigin(t), newHost(t)
	first := prepare(t, h, orderOf(origin, svc.IsolationWorktree))
	mark := filepath.Join(t.TempDir(), "executed")
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, "#!/bin/sh\ntouch '"+mark+"'\ncat\n")
	check(t, os.Chmod(program, 0o755))
	shared := h.shared(origin)
	for _, key := range []string{"core.fsmonitor", "filter.evil.smudge", "filter.evil.clean", "core.sshCommand"} {
		agent(t, first.Path, "config", key, program)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		check(t, os.MkdirAll(filepath.Join(shared, "hooks"), 0o755))
		check(t, os.Symlink(program, filepath.Join(shared, "hooks", hook)))
	}
	check(t, os.WriteFile(filepath.Join(origin, ".gitattributes"), []byte("* filter=evil\n"), 0o644))
	agent(t, origin, "add", "-A")
	agent(t, origin, "commit", "-q", "-m", "attributes")

	second := prepare(t, h, orderOf(origin, svc.IsolationWorktree))
	write(t, filepath.Join(second.Path, "new"), "x")
	if _, made, err := h.Checkpoint(t.Context(), second.ID); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("a program that an agent named was executed")
	}
	// Git itself would have executed it.
	_, _ = tryAgent(second.Path, "status")
	if _, err := os.Stat(mark); err != nil {
		t.Fatalf("the trap does not work: %v", err)
	}
	if got := agent(t, first.Path, "-c", "core.fsmonitor=false", "worktree", "list", "--porcelain"); !strings.Contains(got, second.Path) {
		t.Errorf("worktrees %q", got)
	}
	if out, err := tryAgent(first.Path, "-c", "core.fsmonitor=false", "worktree", "remove", "--force", second.Path); err == nil {
		t.Errorf("a neighbour could remove it: %s", out)
	}
}
