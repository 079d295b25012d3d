package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc"
)

// receives makes a script receive the pushes of a landing instead of git-receive-pack. The script can run the latter
// as "$git receive-pack". "$dir" is a folder for it, which receives returns.
func (l *landing) receives(script string) (dir string) {
	l.t.Helper()
	real, err := exec.LookPath("git")
	check(l.t, err)
	dir = l.t.TempDir()
	take := filepath.Join(dir, "take")
	write(l.t, take, "#!/bin/sh\ngit='"+real+"' dir='"+dir+"'\n"+script)
	l.h.Git.Bin = filepath.Join(dir, "git")
	write(l.t, l.h.Git.Bin, "#!/bin/sh\ntest \"$1 $2\" = 'push --porcelain' || exec '"+real+"' \"$@\"\nshift\nexec '"+real+"' push --receive-pack='"+take+"' \"$@\"\n")
	check(l.t, os.Chmod(take, 0o755))
	check(l.t, os.Chmod(l.h.Git.Bin, 0o755))
	return dir
}

// dies makes a hook kill the remote's receive-pack once; when is a condition in the hook.
func (l *landing) dies(hook, when string) {
	l.t.Helper()
	path := filepath.Join(l.remote, "hooks", hook)
	write(l.t, path, "#!/bin/sh\n"+when+" || exit 0\ntest ! -e died || exit 0\ntouch died\nkill -9 $PPID\n")
	check(l.t, os.Chmod(path, 0o755))
}

// TestARemoteThatIsKilledInAPushHasTheChangeOnceOrNotAtAll kills the remote's receive-pack while it reads, and
// before, during and after the move of the branch. The outcome always agrees with the branch, and the same order
// lands once the remote works again.
func TestARemoteThatIsKilledInAPushHasTheChangeOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*landing){
		"pre-receive":  func(l *landing) { l.dies("pre-receive", "true") },
		"update":       func(l *landing) { l.dies("update", "true") },
		"locked":       func(l *landing) { l.dies("reference-transaction", "test $1 = prepared") },
		"moved":        func(l *landing) { l.dies("reference-transaction", "test $1 = committed") },
		"post-receive": func(l *landing) { l.dies("post-receive", "true") },
	}
	lengths, ways := []int{1, 200, 400}, []svc.LandHow{svc.LandSquash}
	if os.Getenv("SVC_TEST_LONG") != "" {
		ways = append(ways, svc.LandMerge)
		for n := 20; n < 900; n += 20 {
			lengths = append(lengths, n)
		}
	}
	for _, n := range lengths {
		cases[fmt.Sprintf("after %d bytes", n)] = func(l *landing) {
			l.receives(fmt.Sprintf(`
test ! -e $dir/died || exec $git receive-pack "$@"
touch $dir/died
mkfifo $dir/in
$git receive-pack "$@" <$dir/in &
head -c %d >$dir/in
kill -9 $!
`, n))
		}
	}
	for moment, arrange := range cases {
		for _, how := range ways {
			t.Run(moment+" "+string(how), func(t *testing.T) {
				t.Parallel()
				l := newLanding(t)
				before := l.git("rev-parse", "main")
				arrange(l)
				o := l.order(how)
				out := l.land(o)
				main := l.git("rev-parse", "main")
				switch {
				case out.State == svc.LandingDone && main == out.Commit && main != before:
				case out.State == svc.LandingOpen && main == before && strings.Contains(out.Error, "did not answer"):
				default:
					t.Fatalf("main went from %s to %s, and the outcome is %+v", before, main, out)
				}
				l.unlock()
				done := l.landed(o)
				if out.State == svc.LandingDone && done.Commit != out.Commit {
					t.Errorf("asked again it is %+v, after %+v", done, out)
				}
				if l.git("rev-parse", "main") != done.Commit || l.count("main") != 1 {
					t.Errorf("%+v\n%s", done, l.git("log", "--oneline", "main"))
				}
			})
		}
	}
}

// unlock removes the locks that a killed git has left, as the owner of the remote has to.
func (l *landing) unlock() {
	l.t.Helper()
	for _, pattern := range []string{"*.lock", "refs/heads/*.lock"} {
		locks, err := filepath.Glob(filepath.Join(l.remote, pattern))
		check(l.t, err)
		for _, lock := range locks {
			check(l.t, os.Remove(lock))
		}
	}
}

// TestARemoteThatMovesTheBranchAfterItsConnectionIsGone checks that a push that failed may still be carried out by
// the remote.
func TestARemoteThatMovesTheBranchAfterItsConnectionIsGone(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"after it moved", "before it moved", "and refused"} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			l := newLanding(t)
			dir := l.receives(`
test ! -e $dir/out || exec $git receive-pack "$@"
exec 3<&0
: >$dir/out
(setsid $git receive-pack "$@" <$dir/in; echo >$dir/over) >>$dir/out 2>&1 &
cat <&3 >$dir/in &
tail -n +1 -f $dir/out 2>/dev/null & tail=$!
cat <"$1/waits" >/dev/null
kill -9 $tail
`)
			hook := filepath.Join(l.remote, "hooks", "pre-receive")
			write(t, hook, "#!/bin/sh\ntest ! -e at || exec test ! -e refuse\ntouch at\necho >waits\ncat goes\n")
			check(t, os.Chmod(hook, 0o755))
			for _, pipe := range []string{dir + "/in", dir + "/over", l.remote + "/waits", l.remote + "/goes"} {
				check(t, syscall.Mkfifo(pipe, 0o600))
			}
			gone := false
			goes := func() { // continues the push and waits for it
				gone = true
				check(t, os.WriteFile(filepath.Join(l.remote, "goes"), nil, 0o600))
				_, err := os.ReadFile(filepath.Join(dir, "over"))
				check(t, err)
			}
			t.Cleanup(func() { // also if the test failed before
				if _, err := os.Stat(filepath.Join(l.remote, "at")); err == nil && !gone {
					goes()
				}
			})
			before, o := l.git("rev-parse", "main"), l.order(svc.LandSquash)
			if out := l.land(o); out.State != svc.LandingOpen || l.git("rev-parse", "main") != before {
				t.Fatalf("while the remote is at it: %+v", out)
			}
			var out svc.LandOutcome
			if asked == "and refused" {
				write(t, filepath.Join(l.remote, "refuse"), "")
				if out := l.land(o); out.State != svc.LandingOpen || !strings.Contains(out.Error, "pre-receive hook declined") {
					t.Fatalf("a second push was refused, while the remote is at the first: %+v", out)
				}
			}
			if asked != "before it moved" {
				goes()
				if l.git("rev-parse", "main") == before {
					t.Fatal("the remote did not move the branch")
				}
				out = l.landed(o)
			} else {
				out = l.landed(o)
				goes()
			}
			if l.git("rev-parse", "main") != out.Commit || l.count("main") != 1 {
				t.Errorf("%+v\n%s", out, l.git("log", "--oneline", "main"))
			}
		})
	}
}
