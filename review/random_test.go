package review

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/git"
)

// A tree is the content of a checkpoint: files by name.
type tree map[string]blob

type blob struct{ mode, text string }

const (
	plain      = "100644"
	executable = "100755"
	symlink    = "120000"
)

// names are typical file names, and names with characters that cause problems in tools.
var names = []string{
	"a", "b.go", "dir/c", "dir/deep/d", "spa ce", "new\nline", "\"quoted\"", "ünï", "-dash", "back\\slash", "tab\tname", "\xff\xfe", "a b/b c", "diff --git a/x b/x",
	"--- a", "bell\a", "x => y", " lead", "trail ", "e", "f", "g",
}

// random makes random changes.
type random struct {
	*rand.Rand
	base  tree
	count int
}

func (r *random) line() string {
	if r.IntN(4) == 0 {
		return []string{"\n", "}\n", "\treturn nil\n", "--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "diff --git a/a b/a\n", "\\ No newline at end of file\n", "\r\n"}[r.IntN(9)]
	}
	r.count++
	return fmt.Sprintf("line %d\n", r.count)
}

func (r *random) lines(n int) (out []string) {
	for range n {
		out = append(out, r.line())
	}
	return out
}

func (r *random) text() string {
	text := strings.Join(r.lines(r.IntN(60)), "")
	if r.IntN(5) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

func (r *random) bytes() string {
	out := make([]byte, r.IntN(3000))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return "\x00" + string(out)
}

// edit changes some lines, or some bytes, of a file.
func (r *random) edit(text string) string {
	if strings.Contains(text, "\x00") {
		at := r.IntN(len(text))
		return text[:at] + r.bytes()[:1] + fmt.Sprint(r.count) + text[at:]
	}
	lines := slices.Collect(strings.Lines(text))
	for range 1 + r.IntN(4) {
		at := r.IntN(len(lines) + 1)
		gone := min(r.IntN(4), len(lines)-at)
		lines = slices.Replace(lines, at, at+gone, r.lines(r.IntN(4))...)
	}
	for i := range lines[:max(len(lines)-1, 0)] {
		if !strings.HasSuffix(lines[i], "\n") {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// change makes one random change to a tree.
func (r *random) change(t tree) {
	paths := slices.Sorted(maps.Keys(t))
	if len(paths) == 0 {
		t["a"] = blob{plain, r.text()}
		return
	}
	path := paths[r.IntN(len(paths))]
	other := names[r.IntN(len(names))]
	f := t[path]
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		if f.mode != symlink {
			t[path] = blob{f.mode, r.edit(f.text)}
		}
	case 4:
		t.put(other, blob{plain, r.text()})
	case 5:
		t.put(other, blob{plain, r.bytes()})
	case 6:
		delete(t, path)
	case 7, 8:
		delete(t, path)
		t.put(other, f)
	case 9:
		delete(t, path)
		if f.mode != symlink {
			f.text = r.edit(f.text)
		}
		t.put(other, f)
	case 10:
		if f.mode == plain {
			t[path] = blob{executable, f.text}
		} else {
			t[path] = blob{plain, f.text}
		}
	case 11:
		t.put(other, blob{symlink, fmt.Sprintf("to/%d", r.count)})
	case 12:
		t[path] = blob{plain, f.text + r.bytes()}
	default: // back to the base
		if was, ok := r.base[other]; ok {
			t.put(other, was)
		} else {
			delete(t, other)
		}
	}
}

// put writes a file, and removes what is in its place: files that are its folders, and files below it.
func (t tree) put(path string, f blob) {
	for there := range t {
		if strings.HasPrefix(there, path+"/") || strings.HasPrefix(path, there+"/") {
			delete(t, there)
		}
	}
	t[path] = f
}

// archive is a repository in which each tree is a commit; refs/heads/0 is the first.
type archive struct {
	t *testing.T
	git.Repo
	dir   string // an empty folder
	trees []string
}

func newArchive(t *testing.T, trees []tree) archive {
	t.Helper()
	repo, err := git.Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), git.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for i, tree := range trees {
		fmt.Fprintf(&in, "commit refs/heads/%d\ncommitter a <a@x> 0 +0000\ndata 0\n", i)
		if i > 0 {
			fmt.Fprintf(&in, "from refs/heads/%d\n", 0)
		}
		in.WriteString("deleteall\n")
		for path, f := range tree {
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", f.mode, Quote(path), len(f.text), f.text)
		}
		in.WriteByte('\n')
	}
	a := archive{t: t, Repo: repo, dir: t.TempDir()}
	a.run(in.String(), "fast-import", "--quiet")
	args := []string{"rev-parse"}
	for i := range trees {
		args = append(args, fmt.Sprintf("refs/heads/%d^{tree}", i))
	}
	a.trees = strings.Fields(a.run("", args...))
	return a
}

// run executes git with an index of the repository's own.
func (a archive) run(stdin string, args ...string) string {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), "git", args...)
	cmd.Dir = a.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_DIR=" + a.Dir, "GIT_INDEX_FILE=" + a.Dir + "/index", "GIT_WORK_TREE=" + cmd.Dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + cmd.Dir}
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		a.t.Fatalf("git %s: %v\n%s\n%.4000s", strings.Join(args, " "), err, said.String(), stdin)
	}
	return out.String()
}

// patch returns the difference to the first tree, made as a worker makes it.
func (a archive) patch(n int) (*Patch, string) {
	a.t.Helper()
	var b bytes.Buffer
	if err := a.Patch(a.t.Context(), &b, "refs/heads/0", fmt.Sprintf("refs/heads/%d", n), 1<<20); err != nil {
		a.t.Fatal(err)
	}
	p, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		a.t.Fatalf("%v\n%s", err, b.String())
	}
	return p, b.String()
}

// rebuilds applies a patch to a tree with git, and compares the result with the other tree.
func (a archive) rebuilds(from, to int, patch string) {
	a.t.Helper()
	a.run("", "read-tree", fmt.Sprintf("refs/heads/%d", from))
	if patch != "" {
		a.run(patch, "apply", "--cached", "--whitespace=nowarn", "-")
	}
	got := strings.TrimSpace(a.run("", "write-tree"))
	if want := a.trees[to]; got != want {
		a.t.Fatalf("from %d to %d: the patch makes the tree %s, not %s\n%s", from, to, got, want, patch)
	}
}

// numbers are the added and deleted lines per file, in the format of git's --numstat. A name that is used again is in
// a patch twice.
type numbers map[string]string

func (n numbers) add(path, additions, deletions string) {
	var a, d, a2, d2 int
	before, again := n[path]
	_, err := fmt.Sscan(before+" "+additions+" "+deletions, &a, &d, &a2, &d2)
	switch {
	case !again:
		n[path] = additions + "\t" + deletions
	case err != nil:
		n[path] = "-\t-"
	default:
		n[path] = fmt.Sprintf("%d\t%d", a+a2, d+d2)
	}
}

func numbersOf(files []*File) numbers {
	out := numbers{}
	for _, f := range files {
		if f.Binary {
			out.add(f.Path, "-", "-")
		} else {
			out.add(f.Path, fmt.Sprint(f.Additions), fmt.Sprint(f.Deletions))
		}
	}
	return out
}

// numstat reads git's own numbers.
func numstat(listing string) numbers {
	out := numbers{}
	entries := strings.Split(strings.TrimSuffix(listing, "\x00"), "\x00")
	for i := 0; i < len(entries) && entries[i] != ""; i++ {
		fields := strings.SplitN(entries[i], "\t", 3)
		if fields[2] == "" {
			fields[2] = entries[i+2]
			i += 2
		}
		out.add(fields[2], fields[0], fields[1])
	}
	return out
}

// TestAFileThatComesAsSomethingElseGoesAndComes has an added path that is a file in one checkpoint and a link in the
// next.
func TestAFileThatComesAsSomethingElseGoesAndComes(t *testing.T) {
	t.Parallel()
	a := newArchive(t, []tree{{"a": {plain, "x\n"}}, {"a": {plain, "x\n"}, "new": {plain, "one\n"}}, {"a": {plain, "x\n"}, "new": {symlink, "a"}}})
	before, _ := a.patch(1)
	after, _ := a.patch(2)
	var b strings.Builder
	files, complete, err := Between(before, after, &b)
	if err != nil || !complete {
		t.Fatalf("complete %v: %v", complete, err)
	}
	a.rebuilds(1, 2, b.String())
	if list := List(files); len(list) != 1 || list[0].Status != TypeChanged || list[0].OldMode != plain || list[0].Mode != symlink {
		t.Errorf("listed as %+v", list)
	}
}

// seed returns the seed of the random trees: a new one in the long form, which searches for errors; otherwise a
// constant, so that a failure is caused by the change under test. SVC_TEST_SEED repeats a reported seed.
func seed(t *testing.T) uint64 {
	seed := uint64(1)
	if os.Getenv("SVC_TEST_LONG") != "" {
		seed = rand.Uint64()
	}
	if text := os.Getenv("SVC_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("seed %d", seed)
	return seed
}

// checkpoints returns how many checkpoints are compared, of five changes each.
func checkpoints() int {
	if os.Getenv("SVC_TEST_LONG") != "" {
		return 100
	}
	return 8
}

// TestPatchesOfRandomChangesRebuildTheirTrees compares with git what is read from its patches, and what is computed
// from two of them.
func TestPatchesOfRandomChangesRebuildTheirTrees(t *testing.T) {
	t.Parallel()
	r := &random{Rand: rand.New(rand.NewPCG(seed(t), 0)), base: tree{}}
	for _, name := range names[:14] {
		r.base.put(name, blob{plain, r.text()})
	}
	r.base["e"], r.base["f"], r.base["g"] = blob{plain, r.bytes()}, blob{symlink, "a"}, blob{executable, ""}
	trees := []tree{r.base}
	for range checkpoints() {
		next := maps.Clone(trees[len(trees)-1])
		if len(trees)%7 == 0 {
			next = maps.Clone(r.base)
		}
		for range 5 {
			r.change(next)
		}
		trees = append(trees, next)
	}
	a := newArchive(t, trees)
	unknown := 0
	patches := []*Patch{nil}
	for to := 1; to < len(trees); to++ {
		p, text := a.patch(to)
		patches = append(patches, p)
		a.rebuilds(0, to, text)
		want := numstat(a.run("", "diff-tree", "-r", "-z", "--numstat", "--find-renames", "refs/heads/0", fmt.Sprintf("refs/heads/%d", to)))
		parts := numstat(a.run(text, "apply", "--numstat", "-z", "-"))
		got := numbersOf(List(p.Files))
		for _, f := range List(p.Files) {
			// The patch deletes and adds the whole file, but git's numbers compare the link's target with the text.
			if f.Status == TypeChanged {
				want[f.Path] = parts[f.Path]
			}
		}
		for _, f := range p.Files {
			if f.keepsContent() { // the patch does not show whether the file is binary
				delete(got, f.Path)
				delete(want, f.Path)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("checkpoint %d: got %q, want %q", to, got, want)
		}
		for _, from := range []int{to - 1, 1 + r.IntN(to)} {
			if from == 0 || from == to {
				continue
			}
			var b strings.Builder
			files, complete, err := Between(patches[from], p, &b)
			if err != nil {
				t.Fatalf("from %d to %d: %v", from, to, err)
			}
			if !complete {
				unknown++
				continue
			}
			a.rebuilds(from, to, b.String())
			if b.Len() == 0 {
				continue
			}
			want := numstat(a.run(b.String(), "apply", "--numstat", "-z", "-"))
			if got := numbersOf(files); !maps.Equal(got, want) {
				t.Fatalf("from %d to %d: got %q, want %q\n%s", from, to, got, want, b.String())
			}
		}
	}
	if unknown >= len(trees) {
		t.Errorf("%d of %d pairs could not be compared", unknown, 2*len(trees))
	}
}
