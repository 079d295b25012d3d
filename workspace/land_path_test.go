package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc"
)

func TestACleanCheckoutOfTheTargetIsBroughtAlong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(l *landing) (checkout string)
	}{
		"main": {func(l *landing) string { return l.remote }},
		"worktree": {func(l *landing) string {
			l.git("checkout", "-q", "other")
			l.git("worktree", "add", "-q", l.remote+"-x", "main")
			return l.remote + "-x"
		}},
		"nowhere": {func(l *landing) string { l.git("checkout", "-q", "other"); return "" }},
		"packed refs, and files of no interest": {func(l *landing) string {
			l.git("pack-refs", "--all")
			write(l.t, filepath.Join(l.remote, "mine.txt"), "not committed")
			write(l.t, filepath.Join(l.remote, "a.log"), "ignored")
			return l.remote
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPathLanding(t)
			checkout := c.arrange(l)
			elsewhere := files(t, l.remote)
			status := func() string { return agent(t, checkout, "status", "--porcelain") }
			before := ""
			if checkout != "" {
				before = status()
			}
			out := l.landed(l.order(svc.LandMerge))
			if l.git("rev-parse", "main") != out.Commit || l.git("fsck", "--strict") != "" {
				t.Errorf("main is at %s, landed as %s", l.git("rev-parse", "main"), out.Commit)
			}
			if !strings.Contains(l.git("reflog", "-1", "main"), "svc: merge checkpoint") {
				t.Errorf("the branch's log ends with %s", l.git("reflog", "-1", "main"))
			}
			if checkout != l.remote {
				same(t, "a checkout of another branch", files(t, l.remote), elsewhere)
			}
			if checkout == "" {
				return
			}
			if got := status(); got != before {
				t.Errorf("the status was %q and is %q", before, got)
			}
			want := files(t, l.r.Path)
			for _, own := range []string{"mine.txt", "a.log"} {
				if elsewhere[own] != "" {
					want[own] = elsewhere[own]
				}
			}
			same(t, "the checkout", files(t, checkout), want)
		})
	}
}

func TestACheckoutInWhichSomebodyWorksIsNotTouched(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(l *landing){
		"a changed file":         func(l *landing) { write(l.t, filepath.Join(l.remote, "a"), "mine") },
		"a change that it makes": func(l *landing) { write(l.t, filepath.Join(l.remote, "dir/b"), "mine") },
		"a staged file":          func(l *landing) { write(l.t, filepath.Join(l.remote, "s"), "mine"); l.git("add", "s") },
		"a deleted file":         func(l *landing) { check(l.t, os.Remove(filepath.Join(l.remote, "a"))) },
		"a file in the way":      func(l *landing) { write(l.t, filepath.Join(l.remote, "new/file"), "mine") },
		"an ignored file in the way": func(l *landing) {
			write(l.t, filepath.Join(l.remote, ".git/info/exclude"), "new\n")
			write(l.t, filepath.Join(l.remote, "new/file"), "mine")
		},
		"an ignored and changed file that it removes": func(l *landing) {
			write(l.t, filepath.Join(l.remote, ".git/info/exclude"), "link\n")
			check(l.t, os.Remove(filepath.Join(l.remote, "link")))
			write(l.t, filepath.Join(l.remote, "link"), "mine")
		},
		"a folder in the way": func(l *landing) { write(l.t, filepath.Join(l.remote, "committed/mine"), "mine") },
		"a hidden file":       func(l *landing) { l.git("update-index", "--skip-worktree", "a") },
		"a merge under way": func(l *landing) {
			write(l.t, filepath.Join(l.remote, ".git/MERGE_HEAD"), l.git("rev-parse", "other")+"\n")
		},
		"a rebase under way": func(l *landing) {
			write(l.t, filepath.Join(l.remote, ".git/rebase-merge/head-name"), "refs/heads/main\n")
			l.git("update-ref", "--no-deref", "HEAD", l.git("rev-parse", "HEAD"))
		},
		"a git at work":       func(l *landing) { write(l.t, filepath.Join(l.remote, ".git/index.lock"), "") },
		"a git at the branch": func(l *landing) { write(l.t, filepath.Join(l.remote, ".git/refs/heads/main.lock"), "") },
		"a converting program": func(l *landing) {
			write(l.t, filepath.Join(l.remote, ".git/info/exclude"), ".gitattributes\n")
			write(l.t, filepath.Join(l.remote, ".gitattributes"), "dir/* filter=lfs\n")
		},
		"two checkouts": func(l *landing) { l.git("worktree", "add", "-q", "--force", l.remote+"-x", "main") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPathLanding(t)
			arrange(l)
			tip, before, status := l.git("rev-parse", "main"), files(t, l.remote), l.git("--no-optional-locks", "status", "--porcelain")
			out := l.land(l.order(svc.LandSquash))
			if out.State != svc.LandingFailed || out.Reason != svc.LandCheckout && out.Reason != svc.LandRefused || out.Error == "" {
				t.Errorf("the outcome is %+v", out)
			}
			same(t, "the checkout", files(t, l.remote), before)
			if now := l.git("--no-optional-locks", "status", "--porcelain"); l.git("rev-parse", "main") != tip || now != status {
				t.Errorf("main is at %s, was at %s; the status is %q, was %q", l.git("rev-parse", "main"), tip, now, status)
			}
			left, err := filepath.Glob(filepath.Join(l.remote, ".git", "svc-*"))
			if check(t, err); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// TestNothingThatAnAgentWroteIsRunByALanding plants settings that make git execute programs in the agent's clone. If
// the repository is a folder of the host, it plants them there too, because an agent may be able to write its config.
func TestNothingThatAnAgentWroteIsRunByALanding(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *landing{"by a URL": newLanding, "by a path": newPathLanding} {
		for _, how := range []svc.LandHow{svc.LandSquash, svc.LandMerge, svc.LandPush} {
			t.Run(name+" "+string(how), func(t *testing.T) {
				t.Parallel()
				l := make(t)
				write(t, filepath.Join(l.r.Path, ".gitattributes"), "* merge=evil diff=evil filter=evil\n")
				c, _ := checkpoint(t, l.h, l.r)
				l.number = c.Number
				marks := t.TempDir()
				plant(t, filepath.Join(l.r.Path, ".git"), marks)
				replaced := agent(t, l.r.Path, "rev-parse", "HEAD")
				write(t, filepath.Join(l.r.Path, ".git/refs/replace", replaced), agent(t, l.r.Path, "rev-parse", "HEAD~1")+"\n")
				write(t, filepath.Join(l.r.Path, ".git/info/grafts"), replaced+"\n")
				if name == "by a path" {
					write(t, filepath.Join(l.remote, ".git/info/attributes"), "* merge=evil diff=evil\n")
					plant(t, filepath.Join(l.remote, ".git"), marks)
				}
				out := l.landed(l.order(how))
				entries, err := os.ReadDir(marks)
				check(t, err)
				for _, entry := range entries {
					t.Errorf("executed: %s", entry.Name())
				}
				bare := filepath.Join(t.TempDir(), "look") // a repository without the planted settings
				agent(t, "/", "init", "-q", "--bare", bare)
				objects := filepath.Join(l.remote, "objects")
				if name == "by a path" {
					objects = filepath.Join(l.remote, ".git", "objects")
				}
				write(t, filepath.Join(bare, "objects/info/alternates"), objects+"\n")
				if got := agent(t, bare, "show", out.Commit+":new/file"); got != "1" {
					t.Errorf("landed %q", got)
				}
				if got := agent(t, bare, "log", "--format=%s", out.Commit); !strings.Contains(got, "second") || !strings.HasSuffix(got, "\nfirst") && !strings.Contains(got, "\nfirst\n") {
					t.Errorf("its history is\n%s", got)
				}
			})
		}
	}
}

// plant adds settings and hooks to a repository that execute programs. Each program leaves a file in marks.
func plant(t *testing.T, dir, marks string) {
	t.Helper()
	n := 0
	program := func(what string) string {
		n++
		path := filepath.Join(t.TempDir(), strconv.Itoa(n))
		write(t, path, "#!/bin/sh\ntouch '"+filepath.Join(marks, what)+"'\ncat\n")
		check(t, os.Chmod(path, 0o755))
		return path
	}
	hooks := t.TempDir()
	for _, hook := range []string{
		"pre-push", "pre-receive", "update", "post-update", "post-receive", "reference-transaction", "pre-commit", "post-commit", "post-checkout",
		"post-index-change", "pre-merge-commit", "post-merge", "push-to-checkout", "proc-receive", "pre-auto-gc",
	} {
		check(t, os.Rename(program("hook-"+hook), filepath.Join(hooks, hook)))
	}
	for key, value := range map[string]string{
		"core.hooksPath": hooks, "core.fsmonitor": program("fsmonitor"), "core.sshCommand": program("ssh"), "core.editor": program("editor"),
		"core.alternateRefsCommand": program("alternates"), "credential.helper": program("credential"), "gpg.program": program("gpg"), "commit.gpgSign": "true",
		"diff.external": program("external"), "diff.evil.textconv": program("textconv"), "diff.evil.command": program("diff-command"),
		"merge.evil.driver": program("merge"), "merge.default": "evil", "filter.evil.clean": program("clean"), "filter.evil.smudge": program("smudge"), "filter.evil.required": "true",
		"filter.proc.process": program("process"), "filter.proc.required": "true", "core.gitProxy": program("proxy"), "core.askPass": program("askpass"), "core.pager": program("pager"),
		"uploadpack.packObjectsHook": program("pack"), "url.ext::" + program("instead") + ".insteadOf": "file://", "protocol.ext.allow": "always",
		"remote.origin.receivepack": program("receive-pack"), "receive.procReceiveRefs": "refs/heads",
	} {
		agent(t, "/", "config", "--file", filepath.Join(dir, "config"), key, value)
	}
}
