package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// byGit makes a commit with the git program itself and returns its name.
func byGit(t *testing.T, dir, tree string, parents []string, author, committer Identity, message string) string {
	t.Helper()
	args := []string{"--git-dir", dir, "commit-tree", tree}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Stdin = strings.NewReader(message)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email, fmt.Sprintf("GIT_AUTHOR_DATE=@%d +0000", author.Unix),
		"GIT_COMMITTER_NAME=" + committer.Name, "GIT_COMMITTER_EMAIL=" + committer.Email, fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", committer.Unix),
	}
	out, err := cmd.Output()
	check(t, err)
	return strings.TrimSpace(string(out))
}

func TestACommitIsTheOneThatGitMakes(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{SHA1, SHA256} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			ours := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "ours"), format))
			theirs := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "theirs"), format))
			var tree string
			for _, r := range []Repo{ours, theirs} {
				tree = must[string](t)(Tree{Repo: r, Root: t.TempDir(), Index: filepath.Join(r.Dir, "index")}.WriteTree(t.Context()))
			}
			plain := Identity{Name: "svc", Email: "svc@localhost", Unix: 1_700_000_000}
			var parents []string
			for i, c := range []struct {
				author  Identity
				message string
			}{
				{plain, "text\n"},
				{Identity{Name: " .Ünï <b> \"c\", ", Email: "<a@x>", Unix: 1}, "several\n\nlines"},
				{Identity{Name: "one\ntwo <three>", Email: "'q'", Unix: 2}, ""},
				{Identity{Name: "後 ", Email: "", Unix: 4_000_000_000}, "ü\n"},
			} {
				got := must[string](t)(ours.NewCommitOf(tree, parents, c.author, plain, c.message))
				want := byGit(t, theirs.Dir, tree, parents, c.author, plain, c.message)
				if got != want {
					t.Fatalf("commit %d is %s, git makes %s", i, got, want)
				}
				again := must[string](t)(ours.NewCommitOf(tree, parents, c.author, plain, c.message))
				if again != got {
					t.Errorf("commit %d is %s the second time", i, again)
				}
				parents = []string{got}
				if i == 2 {
					parents = append(parents, must[string](t)(ours.NewCommit(tree, nil, plain, "a second parent\n")))
					byGit(t, theirs.Dir, tree, nil, plain, plain, "a second parent\n")
				}
			}
			agent(t, ours.Dir, "fsck", "--strict", "--no-dangling")
		})
	}
}

func TestACommitThatWouldNotBeOneIsRefused(t *testing.T) {
	t.Parallel()
	r := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), SHA1))
	tree, by := strings.Repeat("a", 40), Identity{Name: "svc"}
	for name, try := range map[string]func() (string, error){
		"a tree by name":             func() (string, error) { return r.NewCommit("HEAD", nil, by, "m") },
		"a parent by name":           func() (string, error) { return r.NewCommit(tree, []string{"HEAD"}, by, "m") },
		"a parent of another format": func() (string, error) { return r.NewCommit(tree, []string{strings.Repeat("a", 64)}, by, "m") },
		"a message with NUL":         func() (string, error) { return r.NewCommit(tree, nil, by, "m\x00") },
		"a message of bytes":         func() (string, error) { return r.NewCommit(tree, nil, by, "\xff") },
		"nobody":                     func() (string, error) { return r.NewCommit(tree, nil, Identity{Name: " <>."}, "m") },
	} {
		if oid, err := try(); err == nil {
			t.Errorf("%s: made %s", name, oid)
		}
	}
	if left, err := os.ReadDir(r.Objects()); err != nil || len(left) != 2 { // the folders info and pack
		t.Errorf("objects %v, %v", left, err)
	}
}
