package svc

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestARepositoryIsAnAddressAndNeverAnOption(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"https://github.com/a/b.git", "https://user:token@host:8443/a/b", "http://h/x", "ssh://git@h:22/a", "git://h/a", "file:///srv/a.git",
		"git@github.com:a/b.git", "host:~/a", "/srv/repos/a", "/srv/with space/ünï",
	} {
		if err := (Source{Repo: good}).OrDefaults().Validate(); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for _, bad := range []string{
		"-u/tmp", "--upload-pack=touch /tmp/x", "relative/path", "./x", "~/x", "ext::sh -c id", "fd::7", "ext://x", "ftp://h/x", "https://", "ssh://-oProxyCommand=id/x",
		"git@-oProxyCommand=id:x", "-oProxyCommand=id:x", "host::x", "/a\nb", "https://h/\x00", ":x", "x", strings.Repeat("/a", 2000),
	} {
		if err := (Source{Repo: bad}).OrDefaults().Validate(); CodeOf(err) != CodeValidation {
			t.Errorf("%q is accepted: %v", bad, err)
		}
	}
}

func TestABaseIsTheNameOfABranch(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"main", "release/1.2", "feature/ünï", "a@b", "v1.0"} {
		if err := (Source{Repo: "/a", Base: good}).OrDefaults().Validate(); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for _, bad := range []string{
		"-f", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "@", "a@{1}", "a\x7fb",
	} {
		if err := (Source{Repo: "/a", Base: bad}).OrDefaults().Validate(); CodeOf(err) != CodeValidation {
			t.Errorf("%q is accepted: %v", bad, err)
		}
	}
}

func TestASourceHasDefaultsAndLimits(t *testing.T) {
	t.Parallel()
	if got := (Source{}).OrDefaults(); got != (Source{Isolation: IsolationNone, SetupTimeout: 10 * time.Minute, KeepDays: 14}) {
		t.Errorf("nothing said: %+v", got)
	}
	if got := (Source{Repo: "/a"}).OrDefaults().Isolation; got != IsolationClone {
		t.Errorf("with a repo the isolation is %q", got)
	}
	if got := (Source{Repo: "/a", Isolation: IsolationNone}).OrDefaults().Isolation; got != IsolationNone {
		t.Errorf("none became %q", got)
	}
	for field, bad := range map[string]Source{
		"isolation":     {Isolation: IsolationWorktree},
		"setup":         {Setup: strings.Repeat("x", 16<<10+1)},
		"setup_timeout": {SetupTimeout: 25 * time.Hour},
		"keep_days":     {KeepDays: -1},
	} {
		if err := bad.OrDefaults().Validate(); err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := (Source{Isolation: "vm"}).OrDefaults().Validate(); err == nil {
		t.Error("an unknown isolation is accepted")
	}
}

func TestABranchIsReadableAndUnique(t *testing.T) {
	t.Parallel()
	id := "0a1b2c3d-0000-4000-8000-000000000000"
	for title, want := range map[string]string{
		"Fix the login page":             "svc/fix-the-login-page-0a1b2c3d",
		"日本語":                            "svc/work-0a1b2c3d",
		strings.Repeat("many words ", 9): "svc/many-words-many-words-many-words-many-wo-0a1b2c3d",
		"../../etc --force; rm":          "svc/etc-force-rm-0a1b2c3d",
	} {
		got := WorkspaceBranch(title, id)
		if got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
		var bad Problems
		if bad.branch("branch", got); bad.Err() != nil {
			t.Errorf("%q: %v", got, bad.Err())
		}
	}
	if a, b := NewWorkspaceID(), NewWorkspaceID(); a[:8] == b[:8] || !IsID(a) {
		t.Errorf("ids %s and %s", a, b)
	}
}

func TestAWorkspaceMovesOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	for _, good := range [][2]WorkspaceState{
		{"", WorkspacePreparing}, {WorkspacePreparing, WorkspaceReady}, {WorkspaceReady, WorkspaceBusy}, {WorkspaceBusy, WorkspaceReady},
		{WorkspaceFailed, WorkspacePreparing}, {WorkspaceMissing, WorkspaceRemoved},
	} {
		if !good[0].MayBecome(good[1]) {
			t.Errorf("%q may not become %q", good[0], good[1])
		}
	}
	for _, bad := range [][2]WorkspaceState{
		{WorkspaceBusy, WorkspaceRemoved}, {WorkspacePreparing, WorkspaceRemoved}, {WorkspaceRemoved, WorkspaceReady}, {WorkspaceReady, WorkspacePreparing},
	} {
		if bad[0].MayBecome(bad[1]) {
			t.Errorf("%q may become %q", bad[0], bad[1])
		}
	}
}

func TestCheckpointsTakeAtMostAPartOfTheTime(t *testing.T) {
	t.Parallel()
	if got := CheckpointInterval(time.Minute, time.Second); got != time.Minute {
		t.Errorf("a quick one: %v", got)
	}
	took := 10 * time.Second
	if wait := CheckpointInterval(time.Minute, took); took*20 > took+wait {
		t.Errorf("%v of every %v is more than 5 %%", took, took+wait)
	}
}

func TestRemovalNamesEveryReasonAgainstIt(t *testing.T) {
	t.Parallel()
	safe := Removal{Inspected: true, Tree: "t", Relayed: true}
	for what, c := range map[string]struct {
		removal Removal
		want    []UnsafeReason
	}{
		"relayed":                {safe, nil},
		"landed":                 {Removal{Inspected: true, Tree: "t", Landed: true}, nil},
		"this tree given up":     {Removal{Inspected: true, Tree: "t", GiveUp: "t"}, nil},
		"another tree given up":  {Removal{Inspected: true, Tree: "t", GiveUp: "u"}, []UnsafeReason{UnsafeRelay}},
		"nothing known":          {Removal{}, []UnsafeReason{UnsafeUnknown}},
		"unknown, and given up":  {Removal{GiveUp: "t", Relayed: true}, []UnsafeReason{UnsafeUnknown}},
		"a run and a process":    {Removal{Run: true, Process: true, Inspected: true, Tree: "t", GiveUp: "t"}, []UnsafeReason{UnsafeRun, UnsafeProcess}},
		"not relayed, with runs": {Removal{Run: true, Inspected: true, Tree: "t"}, []UnsafeReason{UnsafeRun, UnsafeRelay}},
	} {
		if got := c.removal.Unsafe(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestAFolderIsNamedAsItIsInTheCopy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		repo, cwd, want string
		ok              bool
	}{
		{"/srv/shop", "", "", true},
		{"/srv/shop", "sub/./dir", "sub/dir", true},
		{"/srv/shop", "/srv/shop", "", true},
		{"/srv/shop", "/srv/shop/sub", "sub", true},
		{"/srv/shop", "/srv/shopping", "", false}, // as for a project that was created in a clone of the folder
		{"/srv/shop", "../shopping", "", false},
		{"https://x/shop.git", "/srv/shop", "", false},
		{"https://x/shop.git", "sub", "sub", true},
	} {
		if got, ok := (Project{Repo: c.repo}).CwdInCopy(c.cwd); got != c.want || ok != c.ok {
			t.Errorf("%s with a copy of %s is %q, %v, want %q, %v", c.cwd, c.repo, got, ok, c.want, c.ok)
		}
	}
}
