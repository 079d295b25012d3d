package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
)

// landing is a workspace with a change, and the repository in which it is landed.
type landing struct {
	t      *testing.T
	h      Host
	o      Order
	r      Record
	remote string // the repository's folder
	number int    // the number of the newest checkpoint
}

// newLanding makes a workspace of a bare repository that is reached with a URL.
func newLanding(t *testing.T) *landing {
	t.Helper()
	remote := filepath.Join(t.TempDir(), "remote.git")
	agent(t, "/", "clone", "-q", "--bare", newOrigin(t), remote)
	return landingOf(t, remote, "file://"+remote)
}

// newPathLanding makes a workspace of a repository on this host, with a checkout of main.
func newPathLanding(t *testing.T) *landing {
	t.Helper()
	origin := newOrigin(t)
	return landingOf(t, origin, origin)
}

func landingOf(t *testing.T, remote, repo string) *landing {
	t.Helper()
	l := &landing{t: t, h: newHost(t), o: orderOf(repo, svc.IsolationClone), remote: remote}
	l.r = prepare(t, l.h, l.o)
	l.change()
	return l
}

// change changes, adds, removes and commits files as the agent does, and makes a checkpoint.
func (l *landing) change() {
	l.t.Helper()
	n := fmt.Sprint(l.number + 1)
	write(l.t, filepath.Join(l.r.Path, "committed"), n)
	agent(l.t, l.r.Path, "add", "-A")
	agent(l.t, l.r.Path, "commit", "-q", "-m", "by the agent")
	write(l.t, filepath.Join(l.r.Path, "dir/b"), "changed "+n+"\n")
	write(l.t, filepath.Join(l.r.Path, "new/file"), n)
	_ = os.Remove(filepath.Join(l.r.Path, "link"))
	c, _ := checkpoint(l.t, l.h, l.r)
	l.number = c.Number
}

func (l *landing) order(how svc.LandHow) svc.LandOrder {
	o := svc.LandOrder{ID: svc.NewID(), Checkpoint: l.number, How: how, Into: "main", Message: "the title\n\nthe text", By: "anna", At: 1_700_000_000_000}
	if how == svc.LandPush {
		o.Into = l.r.Branch
	}
	return o
}

func (l *landing) land(o svc.LandOrder) svc.LandOutcome {
	l.t.Helper()
	out, err := l.h.Land(l.t.Context(), l.r.ID, o)
	check(l.t, err)
	return out
}

// landed lands an order and fails the test unless it succeeds.
func (l *landing) landed(o svc.LandOrder) svc.LandOutcome {
	l.t.Helper()
	out := l.land(o)
	if out.State != svc.LandingDone || out.ID != o.ID || out.Reason != "" {
		l.t.Fatalf("the outcome is %+v", out)
	}
	return out
}

func (l *landing) git(args ...string) string {
	l.t.Helper()
	return agent(l.t, l.remote, args...)
}

// count returns how often the landing is in the history of a branch.
func (l *landing) count(branch string) int {
	l.t.Helper()
	return strings.Count("\n"+l.git("log", "--format=%s", branch), "\nthe title")
}

// others adds an unrelated commit to main.
func (l *landing) others(name, text string) {
	l.t.Helper()
	dir := l.t.TempDir()
	agent(l.t, dir, "clone", "-q", "-b", "main", l.remote, "clone")
	dir = filepath.Join(dir, "clone")
	write(l.t, filepath.Join(dir, name), text)
	agent(l.t, dir, "add", "-A")
	agent(l.t, dir, "commit", "-q", "-m", "by others")
	agent(l.t, dir, "push", "-q", "origin", "HEAD:main")
}

func TestALandingIsTheCommitThatWasAskedFor(t *testing.T) {
	t.Parallel()
	l := newLanding(t)
	l.others("others", "x")
	before := l.git("rev-parse", "main")
	want := files(t, l.r.Path)
	want["others"] = `file executable=false "x"`

	pushed := l.landed(l.order(svc.LandPush))
	if got := l.git("rev-parse", l.r.Branch); got != pushed.Commit || got != l.h.mustRecord(t, l.r.ID).Newest.Commit || l.git("rev-parse", "main") != before {
		t.Errorf("pushed %s, the branch is at %s", pushed.Commit, got)
	}
	squash := l.order(svc.LandSquash)
	out := l.landed(squash)
	got := l.git("log", "-1", "--format=%H|%P|%an|%ae|%cn|%ce|%ad|%s|%b", "--date=unix", "main")
	if want := out.Commit + "|" + before + "|anna|anna@svc|svc|svc@localhost|1700000000|the title|the text"; got != want {
		t.Errorf("the commit is\n%s, want\n%s", got, want)
	}
	checkout := filepath.Join(t.TempDir(), "x")
	agent(t, "/", "clone", "-q", l.remote, checkout)
	same(t, "what was landed", files(t, checkout), want)
	if again := l.landed(squash); again.Commit != out.Commit || l.count("main") != 1 {
		t.Errorf("asked again, it is %+v and there %d times", again, l.count("main"))
	}
	if out := l.land(l.order(svc.LandMerge)); out.Reason != svc.LandNothing {
		t.Errorf("landing the same again is %+v", out)
	}

	l.change()
	tip := l.git("rev-parse", "main")
	merged := l.landed(l.order(svc.LandMerge))
	if got, want := l.git("log", "-1", "--format=%H %P %an %cn", "main"), merged.Commit+" "+tip+" "+l.h.mustRecord(t, l.r.ID).Newest.Commit+" anna svc"; got != want {
		t.Errorf("the merge is %s, want %s", got, want)
	}
	again := l.landed(l.order(svc.LandPush))
	if got := l.git("log", "-1", "--format=%T %P", l.r.Branch); got != l.h.mustRecord(t, l.r.ID).Newest.Tree+" "+pushed.Commit+" "+l.h.mustRecord(t, l.r.ID).Newest.Commit {
		t.Errorf("the second push %s is %s", again.Commit, got)
	}
	// The branch belongs to svc, but commits of others on it are kept.
	l.change()
	agent(t, checkout, "push", "-q", "origin", "HEAD~1:refs/heads/side")
	l.git("update-ref", "refs/heads/"+l.r.Branch, "side")
	if out := l.land(l.order(svc.LandPush)); out.Reason != svc.LandTargetMoved || l.git("rev-parse", l.r.Branch) != l.git("rev-parse", "side") {
		t.Errorf("over a branch of others: %+v", out)
	}
}

func (h Host) mustRecord(t *testing.T, id string) Record {
	t.Helper()
	r, err := h.Record(id)
	check(t, err)
	return r
}

func TestALandingThatCannotBeMadeChangesNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(*landing, *svc.LandOrder)
		reason  svc.LandReason
		says    string
	}{
		"conflict":      {func(l *landing, _ *svc.LandOrder) { l.others("dir/b", "by others\n") }, svc.LandConflict, "conflict in 1 file"},
		"written since": {func(l *landing, _ *svc.LandOrder) { write(l.t, filepath.Join(l.r.Path, "later"), "x") }, svc.LandChangeMoved, "the newest is 2"},
		"no branch":     {func(_ *landing, o *svc.LandOrder) { o.Into = "none" }, svc.LandTargetMissing, `"none"`},
		"protected": {func(l *landing, _ *svc.LandOrder) {
			hook := filepath.Join(l.remote, "hooks", "pre-receive")
			write(l.t, hook, "#!/bin/sh\necho main is protected >&2\nexit 1\n")
			check(l.t, os.Chmod(hook, 0o755))
		}, svc.LandRefused, "pre-receive hook declined: main is protected"},
		"full":               {func(l *landing, _ *svc.LandOrder) { l.git("config", "receive.maxInputSize", "10") }, svc.LandRefused, "unpack"},
		"missing":            {func(l *landing, _ *svc.LandOrder) { check(l.t, os.Rename(l.remote, l.remote+".gone")) }, svc.LandUnreachable, "does not"},
		"no such checkpoint": {func(_ *landing, o *svc.LandOrder) { o.Checkpoint = 7 }, svc.LandNoCheckpoint, "the newest is 1"},
		"unrelated": {func(l *landing, _ *svc.LandOrder) {
			commit := l.git("commit-tree", "-m", "x", l.git("rev-parse", "main^{tree}"))
			l.git("update-ref", "refs/heads/main", commit)
		}, svc.LandUnrelated, "share no history"},
		"always moved": {func(l *landing, _ *svc.LandOrder) {
			l.h.at = func(s Step) {
				if s == StepMove {
					l.others("others", svc.NewID())
				}
			}
		}, svc.LandTargetMoved, "4 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLanding(t)
			o := l.order(svc.LandSquash)
			c.arrange(l, &o)
			refs := func() string {
				if name == "missing" || name == "always moved" {
					return ""
				}
				return l.git("for-each-ref")
			}
			before, folder := refs(), everything(t, l.r.Path)
			out := l.land(o)
			if out.State != svc.LandingFailed || out.Reason != c.reason || !strings.Contains(out.Error, c.says) {
				t.Errorf("the outcome is %+v", out)
			}
			if name == "conflict" && !slices.Equal(out.Conflicts, []string{"dir/b"}) {
				t.Errorf("conflicts in %q", out.Conflicts)
			}
			if after := refs(); after != before {
				t.Errorf("the refs were\n%s\nand are\n%s", before, after)
			}
			if got := different(everything(t, l.r.Path), folder); len(got) > 0 {
				t.Errorf("changed in the working copy: %q", got)
			}
			if again := l.land(o); !equalOutcome(again, out) {
				t.Errorf("asked again it is %+v, after %+v", again, out)
			}
		})
	}
}

func equalOutcome(a, b svc.LandOutcome) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestATargetThatMovesMeanwhileGetsTheChangeOnItsNewTip(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*landing{"by a URL": newLanding(t), "by a path": newPathLanding(t)} {
		moves := 0
		if name == "by a path" {
			l.git("checkout", "-q", "--detach")
		}
		l.h.at = func(s Step) {
			if s == StepMove && moves < 3 {
				moves++
				l.others("others"+fmt.Sprint(moves), "x")
			}
		}
		out := l.landed(l.order(svc.LandSquash))
		if l.git("rev-parse", "main") != out.Commit || l.count("main") != 1 || moves < 3 {
			t.Errorf("%s: %+v after %d moves\n%s", name, out, moves, l.git("log", "--oneline", "main"))
		}
	}
}

// changing are the git commands that write something.
var changing = map[string][]string{"by a URL": {"merge-tree", "push"}, "by a path": {"pack-objects", "read-tree"}}

// killerAfter returns a git program that works normally and kills its caller after a command.
func killerAfter(t *testing.T, verb string) string {
	t.Helper()
	real, err := exec.LookPath("git")
	check(t, err)
	path := filepath.Join(t.TempDir(), "git")
	write(t, path, "#!/bin/sh\n'"+real+"' \"$@\"\ncode=$?\ntest \"$1\" != "+verb+" || test \"$2\" = --dry-run || kill -9 $PPID\nexit $code\n")
	check(t, os.Chmod(path, 0o755))
	return path
}

// TestAKillAtEveryStepOfALandingLandsOnce kills the process at each step and after each call of git that writes.
// Whatever the state then, the next request lands the change exactly once, and a checkout of the branch is as clean
// as before.
func TestAKillAtEveryStepOfALandingLandsOnce(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *landing{"by a URL": newLanding, "by a path": newPathLanding} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := make(t)
			tip, clean := l.git("rev-parse", "main"), ""
			try := func(do task) (was bool) {
				o := l.order(svc.LandSquash)
				do.Dir, do.Do, do.Land = l.h.Dir, "land", o
				was = killed(t, l.o, do)
				if n := l.count("main"); n > 1 {
					t.Fatalf("%+v: landed %d times", do, n)
				}
				out := l.landed(o)
				if l.git("rev-parse", "main") != out.Commit || l.count("main") != 1 {
					t.Fatalf("%+v: %+v\n%s", do, out, l.git("log", "--oneline", "main"))
				}
				if name == "by a path" {
					if clean = l.git("status", "--porcelain"); clean != "" || l.git("show", "HEAD:new/file") != "1" {
						t.Fatalf("%+v: the checkout is\n%s", do, clean)
					}
					l.git("reset", "-q", "--hard", tip)
				} else {
					l.git("update-ref", "refs/heads/main", tip)
				}
				return was
			}
			for _, step := range []Step{StepLand, StepMove, StepMoved, StepLanded} {
				if !try(task{Die: step}) {
					t.Fatalf("not killed at %s", step)
				}
			}
			if os.Getenv("SVC_TEST_LONG") != "" {
				for n := 1; try(task{Git: killer(t, n)}); n++ {
				}
			} else {
				for _, verb := range changing[name] {
					if !try(task{Git: killerAfter(t, verb)}) {
						t.Fatalf("not killed after git %s", verb)
					}
				}
			}
			left, err := filepath.Glob(filepath.Join(l.remote, ".git", "svc-*"))
			if check(t, err); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// goesAway makes the remote disappear after it has carried out a push.
func (l *landing) goesAway() {
	l.t.Helper()
	real, err := exec.LookPath("git")
	check(l.t, err)
	l.h.Git.Bin = filepath.Join(l.t.TempDir(), "git")
	write(l.t, l.h.Git.Bin, "#!/bin/sh\n'"+real+"' \"$@\" || exit\ntest \"$1\" != push || test \"$2\" = --dry-run || { mv '"+l.remote+"' '"+l.remote+".gone'; echo lost >&2; exit 128; }\n")
	check(l.t, os.Chmod(l.h.Git.Bin, 0o755))
}

// TestALandingAfterOneThatWasGivenUpLandsOnce gives up a landing that the target has, and then lands the same
// checkpoint with a new order.
func TestALandingAfterOneThatWasGivenUpLandsOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []svc.LandHow{svc.LandSquash, svc.LandMerge} {
		l := newLanding(t)
		l.goesAway()
		for range 2 { // the second order is given up as well
			if out := l.land(l.order(how)); out.State != svc.LandingOpen {
				t.Fatalf("%s, with the remote away: %+v", how, out)
			}
		}
		check(t, os.Rename(l.remote+".gone", l.remote))
		took := l.git("rev-parse", "main")
		l.others("others", "x")
		other := l.order(how)
		other.By, other.Message = "otto", "the title again"
		if out := l.landed(other); out.Commit != took || l.count("main") != 1 {
			t.Errorf("%s: %+v, want %s\n%s", how, out, took, l.git("log", "--oneline", "main"))
		}
	}
}

// TestARemoteThatIsGoneAfterItTookTheChangeIsAskedWhenItIsBack loses the answer to a push. Once the remote is back,
// the landing must list it and find the change.
func TestARemoteThatIsGoneAfterItTookTheChangeIsAskedWhenItIsBack(t *testing.T) {
	t.Parallel()
	l := newLanding(t)
	l.goesAway()
	o := l.order(svc.LandSquash)
	for range 2 {
		if out := l.land(o); out.State != svc.LandingOpen || out.Error == "" {
			t.Fatalf("with the remote away: %+v", out)
		}
	}
	check(t, os.Rename(l.remote+".gone", l.remote))
	if out := l.landed(o); l.git("rev-parse", "main") != out.Commit || l.count("main") != 1 {
		t.Errorf("%+v\n%s", out, l.git("log", "--oneline", "main"))
	}
}
