package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/git"
)

// counting makes h use a git program that records its commands. calls returns those since its last call.
func counting(t *testing.T, h *Host) (calls func() string) {
	t.Helper()
	real, err := exec.LookPath("git")
	check(t, err)
	dir := t.TempDir()
	path, list := filepath.Join(dir, "git"), filepath.Join(dir, "calls")
	write(t, path, "#!/bin/sh\necho \"$1\" >> '"+list+"'\nexec '"+real+"' \"$@\"\n")
	check(t, os.Chmod(path, 0o755))
	h.Git.Bin = path
	return func() string {
		said, err := os.ReadFile(list)
		check(t, err)
		check(t, os.Remove(list))
		return strings.Join(strings.Fields(string(said)), " ")
	}
}

func TestAFewPlainChangesNeedOneProcess(t *testing.T) {
	t.Parallel()
	for _, format := range []git.Format{git.SHA1, git.SHA256} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			origin, h := filepath.Join(t.TempDir(), "origin"), newHost(t)
			agent(t, "/", "init", "-q", "-b", "main", "--object-format="+string(format), origin)
			for _, name := range []string{"a", "b", "dir/a", "dir/deep/a", "dir.txt", "dir-x"} {
				write(t, filepath.Join(origin, name), name)
			}
			agent(t, origin, "add", "-A")
			agent(t, origin, "commit", "-q", "-m", "first")
			r := prepare(t, h, orderOf(origin, svc.IsolationClone))
			calls := counting(t, &h)
			at := func(name string) string { return filepath.Join(r.Path, name) }
			for i, c := range []struct {
				do   func()
				want string
			}{
				{func() { write(t, at("a"), "1") }, "status ls-files ls-files cat-file"}, // the first checkpoint lists the ignored files as well
				{func() { write(t, at("a"), "2") }, "status"},
				{func() { write(t, at("dir/deep/a"), "1") }, "status cat-file"}, // these folders are in a pack
				{func() { write(t, at("dir/deep/b"), "new") }, "status"},
				{func() { write(t, at("fresh/below/x"), "new") }, "status"},
				{func() { check(t, os.RemoveAll(at("dir"))); write(t, at("dir"), "a file instead") }, "status"},
				{func() { check(t, os.Remove(at("dir"))); write(t, at("dir/again"), "") }, "status"},
				{func() { check(t, os.RemoveAll(at("fresh"))) }, "status"},
				{func() { check(t, os.Chmod(at("b"), 0o755)) }, "status"},
				{func() { check(t, os.Remove(at("b"))); check(t, os.Symlink("../out", at("b"))) }, "status"},
				{func() {
					entries, err := os.ReadDir(r.Path)
					check(t, err)
					for _, e := range entries {
						if e.Name() != ".git" {
							check(t, os.RemoveAll(at(e.Name())))
						}
					}
				}, "status"},
			} {
				c.do()
				kept, made := checkpoint(t, h, r)
				if got := calls(); got != c.want || !made {
					t.Errorf("step %d: made %v with %q, want %q", i, made, got, c.want)
				}
				same(t, fmt.Sprintf("the checkpoint of step %d", i), rebuilt(t, h, r, kept), files(t, r.Path))
				calls()
				if kept, made := checkpoint(t, h, r); made {
					t.Errorf("step %d: an equal tree made %+v", i, kept)
				}
				calls()
			}
			newest, err := h.Record(r.ID)
			check(t, err)
			if report := agent(t, h.private(git.Program{}, r.ID).Dir, "fsck", "--strict", "--no-dangling"); report != "" {
				t.Error(report)
			}
			check(t, h.Acknowledge(t.Context(), r.ID, newest.Newest.Number))
			check(t, h.Remove(t.Context(), r.ID, Parting{}))
		})
	}
}

func TestAChangeThatIsTakenBackIsNotKept(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
	before, err := os.ReadFile(filepath.Join(r.Path, "a"))
	check(t, err)
	write(t, filepath.Join(r.Path, "a"), "changed")
	checkpoint(t, h, r)
	write(t, filepath.Join(r.Path, "a"), string(before))
	c, made := checkpoint(t, h, r)
	if !made || c.Number != 2 {
		t.Errorf("made %v: %+v", made, c)
	}
	same(t, "the checkpoint", rebuilt(t, h, r, c), files(t, r.Path))
}

// TestWhatIsNotPlainIsStoredByGit checks that files that git converts or refuses, and large changes, are stored by
// git: the index then has the checkpoint's tree.
func TestWhatIsNotPlainIsStoredByGit(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", quickFile+1)
	for name, change := range map[string]func(at func(string) string){
		"attributes":             func(at func(string) string) { write(t, at("dir/.gitattributes"), "*.txt text\n") },
		"attributes further up":  func(at func(string) string) { write(t, at(".gitattributes"), "*.txt text\n") },
		"a link for attributes":  func(at func(string) string) { check(t, os.Symlink("missing", at(".gitattributes"))) },
		"rules":                  func(at func(string) string) { write(t, at("dir/.gitignore"), "x\n") },
		"a large file":           func(at func(string) string) { write(t, at("large"), big) },
		"a repository inside":    func(at func(string) string) { agent(t, at("."), "clone", "-q", ".", "nested") },
		"a name that git avoids": func(at func(string) string) { write(t, at("x/.GIT/config"), "x") },
		"many files": func(at func(string) string) {
			for i := range quickPaths {
				write(t, at(fmt.Sprintf("many/%d", i)), "")
			}
		},
		"large files": func(at func(string) string) {
			for i := range quickBytes/quickFile + 1 {
				write(t, at(fmt.Sprintf("many/%d", i)), big[1:])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			r := prepare(t, h, orderOf(newOrigin(t), svc.IsolationClone))
			at := func(name string) string { return filepath.Join(r.Path, name) }
			check(t, os.MkdirAll(at("dir"), 0o755))
			change(at)
			write(t, at("dir/lines.txt"), "one\r\ntwo\r\n")
			checkpoint(t, h, r)
			kept, err := h.Record(r.ID)
			check(t, err)
			if kept.Indexed != kept.Newest.Tree || kept.Newest.Number != 1 {
				t.Errorf("the index has %s, the checkpoint %+v", kept.Indexed, kept.Newest)
			}
			got := agent(t, h.private(h.Git, r.ID).Dir, "cat-file", "-p", kept.Newest.Tree+":dir/lines.txt")
			if want := strings.HasPrefix(name, "attributes"); strings.Contains(got, "\r") == want {
				t.Errorf("converted %v: %q", !want, got)
			}
		})
	}
}
