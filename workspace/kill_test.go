package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"svc"
)

// killer returns a git program that works normally and kills its caller after the n-th call.
func killer(t *testing.T, n int) string {
	t.Helper()
	real, err := exec.LookPath("git")
	check(t, err)
	dir := t.TempDir()
	path, count := filepath.Join(dir, "git"), filepath.Join(dir, "count")
	write(t, path, "#!/bin/sh\necho x >> '"+count+"'\n'"+real+"' \"$@\"\ncode=$?\n"+
		"test $(wc -l < '"+count+"') != "+strconv.Itoa(n)+" || kill -9 $PPID\nexit $code\n")
	check(t, os.Chmod(path, 0o755))
	return path
}

// killed runs a task in a process of its own and reports whether the process was killed.
func killed(t *testing.T, o Order, do task) bool {
	t.Helper()
	do.ID, do.Branch, do.Source = o.ID, o.Branch, o.Source
	text, err := json.Marshal(do)
	check(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_TASK="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", do.Do, err, out)
	}
	return false
}

// folders lists the entries of the folder of working copies, except the shared repository.
func folders(t *testing.T, h Host) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(h.Dir, "work"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != "shared" {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestAKillAtEveryStepOfAPreparationLeavesOneWorkspaceOrNone(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			origin, h := newOrigin(t), newHost(t)
			write(t, filepath.Join(origin, ".env"), "KEY=1")
			write(t, filepath.Join(origin, ".worktreeinclude"), ".env\n")
			o := orderOf(origin, isolation)
			o.Source.Setup = "echo setup >> setup.log"
			ready := func() bool {
				if got := folders(t, h); len(got) > 1 {
					t.Fatalf("there are %q", got)
				}
				r, err := h.Record(o.ID)
				return err == nil && r.Ready()
			}
			for _, step := range []Step{StepFetch, StepCheckout, StepInclude, StepSetup} {
				if !killed(t, o, task{Dir: h.Dir, Do: "prepare", Die: step}) || ready() {
					t.Fatalf("not killed at %s", step)
				}
			}
			n := 1
			for killed(t, o, task{Dir: h.Dir, Git: killer(t, n), Do: "prepare"}) {
				if ready() {
					t.Fatalf("ready after a kill at call %d", n)
				}
				n++
			}
			if n < 10 || !ready() {
				t.Fatalf("only %d calls, ready %v", n, ready())
			}
			r, err := h.Record(o.ID)
			check(t, err)
			got := files(t, r.Path)
			if got[".env"] == "" || got["setup.log"] != `file executable=false "setup\n"` || agent(t, r.Path, "status", "--porcelain") != "" {
				t.Errorf("files %q", got)
			}
			if all, err := h.Records(); err != nil || len(all) != 1 {
				t.Errorf("records %v, %v", all, err)
			}
		})
	}
}

func TestAKillAtEveryStepOfACheckpointLosesNothing(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"quick": false, "whole": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
			r := prepare(t, h, o)
			if whole {
				write(t, filepath.Join(r.Path, ".gitattributes"), "* text=auto\n")
			}
			calls := 0
			for n := 1; ; n++ {
				write(t, filepath.Join(r.Path, "a"), strings.Repeat("x", n))
				agent(t, r.Path, "commit", "-q", "-am", "by the agent")
				if !killed(t, o, task{Dir: h.Dir, Git: killer(t, n), Do: "checkpoint"}) {
					break
				}
				calls = n
				// Files that a killed git leaves behind.
				private := h.private(h.Git, r.ID)
				left := []string{
					h.keep(r.ID, "index.lock"), h.keep(r.ID, "index.anew.lock"), private.Dir + "/info/attributes", private.Dir + "/HEAD.lock", private.Dir + "/refs/heads/main.lock",
					private.Dir + "/objects/tmp_obj_x", private.Dir + "/sharedindex_x",
				}
				for _, name := range left {
					write(t, name, "")
				}
				if n%2 == 0 { // another operation acquires the lock before the next checkpoint
					check(t, h.Acknowledge(t.Context(), r.ID, 0))
				}
				c, _ := checkpoint(t, h, r)
				if c.Head != agent(t, r.Path, "rev-parse", "HEAD") {
					t.Fatalf("after a kill at call %d: %+v", n, c)
				}
				same(t, "the checkpoint", rebuilt(t, h, r, c), files(t, r.Path))
				for _, name := range left {
					if _, err := os.Lstat(name); err == nil {
						t.Errorf("after a kill at call %d there is still %s", n, name)
					}
				}
				if _, err := h.Export(t.Context(), r.ID, 1<<20); err != nil {
					t.Fatal(err)
				}
			}
			if calls < 5 {
				t.Fatalf("only %d calls", calls)
			}
		})
	}
}

// TestWhatWasIndexedWithoutACheckpointIsNotTakenForKept kills a worker while a checkpoint changes the index. The
// worker may first relay an older checkpoint; the content of the index must not count as stored.
func TestWhatWasIndexedWithoutACheckpointIsNotTakenForKept(t *testing.T) {
	t.Parallel()
	h, o := newHost(t), orderOf(newOrigin(t), svc.IsolationClone)
	r := prepare(t, h, o)
	write(t, filepath.Join(r.Path, ".gitattributes"), "* text=auto\n")
	checkpoint(t, h, r)
	for n := 1; ; n++ {
		write(t, filepath.Join(r.Path, "a"), strings.Repeat("x", n))
		if !killed(t, o, task{Dir: h.Dir, Git: killer(t, n), Do: "checkpoint"}) {
			break
		}
		if _, err := h.Export(t.Context(), r.ID, 1<<20); err != nil {
			t.Fatal(err)
		}
		c, _ := checkpoint(t, h, r)
		same(t, "the checkpoint", rebuilt(t, h, r, c), files(t, r.Path))
	}
}

func TestAKillAtEveryStepOfARemovalLosesNothing(t *testing.T) {
	t.Parallel()
	for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			origin, h := newOrigin(t), newHost(t)
			o := orderOf(origin, isolation)
			r := prepare(t, h, o)
			write(t, filepath.Join(r.Path, "work"), "x")
			checkpoint(t, h, r)
			want := files(t, r.Path)
			remove := func(bin string, die Step) bool {
				if !killed(t, o, task{Dir: h.Dir, Git: bin, Do: "remove", Die: die}) {
					return false
				}
				at := folders(t, h)
				if len(at) != 1 {
					t.Fatalf("there are %q", at)
				}
				same(t, "the folder", files(t, filepath.Join(h.Dir, "work", at[0])), want)
				return true
			}
			// Up to the last inspection of the folder, after it was moved aside.
			for n, at := 1, StepDone; at != StepRemove; n++ {
				if !remove(killer(t, n), "") {
					t.Fatalf("not killed at call %d", n)
				}
				now, err := h.Record(r.ID)
				check(t, err)
				at = now.Step
			}
			if !remove("", StepDelete) {
				t.Fatal("not killed before the deletion")
			}
			check(t, os.Remove(filepath.Join(h.removing(r.ID), "work"))) // as if it was killed during the deletion
			check(t, h.Remove(t.Context(), r.ID, Parting{}))
			nothingLeft(t, h, r)
		})
	}
}
