package review

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLinesAreFoundAgainWhereGitHasThem locates every line that patches of random edits show in a later checkpoint,
// and compares the result with git's own comparison of the two. Lines are unique and not moved, so there is only one
// correct result.
func TestLinesAreFoundAgainWhereGitHasThem(t *testing.T) {
	t.Parallel()
	r := &random{Rand: rand.New(rand.NewPCG(seed(t), 0))}
	unique := func() string { r.count++; return fmt.Sprintf("line %d\n", r.count) }
	edit := func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		lines = lines[:len(lines)-1]
		var out []string
		for _, line := range lines {
			switch r.IntN(8) {
			case 0:
			case 1:
				out = append(out, unique(), line)
			case 2:
				out = append(out, unique())
			default:
				out = append(out, line)
			}
		}
		return strings.Join(append(out, unique()), "")
	}
	base := tree{}
	for _, name := range []string{"a", "b", "c d"} {
		for range 40 {
			base[name] = blob{plain, base[name].text + unique()}
		}
	}
	trees := []tree{base}
	for range 5 {
		next := maps.Clone(trees[len(trees)-1])
		for name, f := range next {
			next[name] = blob{plain, edit(f.text)}
		}
		next["new"] = blob{plain, edit(next["new"].text)}
		trees = append(trees, next)
	}
	a := newArchive(t, trees)
	var patches []*Patch
	for n := range trees {
		p, _ := a.patch(n)
		patches = append(patches, p)
	}
	found, gone := 0, 0
	for from := 1; from < len(trees); from++ {
		for to := from; to < len(trees); to++ {
			for _, f := range patches[from].Files {
				want := gitLines(a, from, to, f.Path)
				for number, line := range strings.Split(trees[from][f.Path].text, "\n") {
					at := Place{Path: f.Path, First: number + 1, Last: number + 1}
					quote, err := patches[from].Lines(at, 1000)
					if err != nil {
						continue // the patch does not show it
					}
					if quote != line {
						t.Fatalf("line %d of %s in %d: got %q, want %q", number+1, f.Path, from, quote, line)
					}
					there, ok := Locate(patches[from], patches[to], at)
					if want[number+1] != there.First || ok != (want[number+1] > 0) {
						t.Fatalf("line %d of %s from %d to %d: got %+v %v, git says %d", number+1, f.Path, from, to, there, ok, want[number+1])
					}
					if ok {
						found++
					} else {
						gone++
					}
				}
			}
		}
	}
	if found == 0 || gone == 0 {
		t.Errorf("%d lines were found again and %d not", found, gone)
	}
}

// gitLines returns, according to git, the number of each line of a file in a later tree. A line that no longer exists
// is missing in the result.
func gitLines(a archive, from, to int, path string) map[int]int {
	a.t.Helper()
	out := map[int]int{}
	text := a.run("", "diff", "--no-renames", "-U100000", fmt.Sprintf("refs/heads/%d", from), fmt.Sprintf("refs/heads/%d", to), "--", path)
	_, body, differs := strings.Cut(text, " @@")
	if !differs {
		for i := range 1000 {
			out[i] = i
		}
		return out
	}
	old, new := 1, 1
	for line := range strings.Lines(body[strings.Index(body, "\n")+1:]) {
		switch line[0] {
		case ' ':
			out[old] = new
			old, new = old+1, new+1
		case '-':
			old++
		case '+':
			new++
		}
	}
	return out
}
