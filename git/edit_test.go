package git

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// byIndex stores the tree with these files with the git program itself.
func byIndex(r Repo, files map[string]Edit) (string, error) {
	t := Tree{Repo: r, Root: r.Dir, Index: filepath.Join(r.Dir, "by-index")}
	if err := os.RemoveAll(t.Index); err != nil {
		return "", err
	}
	var lines strings.Builder
	for name, e := range files {
		lines.WriteString(e.Mode + " " + e.OID + "\t" + name + "\x00")
	}
	if _, err := t.run(context.Background(), call{args: []string{"update-index", "-z", "--index-info"}, stdin: strings.NewReader(lines.String())}); err != nil {
		return "", err
	}
	return t.WriteTree(context.Background())
}

func TestAnEditedTreeIsTheOneThatGitMakes(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{SHA1, SHA256} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				dir, err := os.MkdirTemp(t.TempDir(), "repository-")
				if err != nil {
					rt.Fatal(err)
				}
				r, err := Program{}.Init(t.Context(), dir, format)
				if err != nil {
					rt.Fatal(err)
				}
				files := map[string]Edit{}
				put := func(name string) Edit {
					oid, err := r.PutBlob(format, []byte(rapid.StringN(0, 3, -1).Draw(rt, "content")))
					if err != nil {
						rt.Fatal(err)
					}
					// A file replaces a folder of its name and a file in the place of a parent, as in a file system.
					for other := range files {
						if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
							delete(files, other)
						}
					}
					files[name] = Edit{name, rapid.SampledFrom([]string{ModeFile, ModeExecutable, ModeLink}).Draw(rt, "mode"), oid}
					return files[name]
				}
				name := rapid.SampledFrom([]string{"a", "a.b", "a-b", "a/b", "a/b/c", "a/b.c", "a0", "b", "b/a", "b/a/x", "new\nline", "new\nline/x", "ü", "\xff"})
				for range rapid.IntRange(0, 6).Draw(rt, "files") {
					put(name.Draw(rt, "name"))
				}
				tree, err := byIndex(r, files)
				if err != nil {
					rt.Fatal(err)
				}
				for range rapid.IntRange(1, 3).Draw(rt, "rounds") {
					if rapid.Bool().Draw(rt, "packed") {
						agent(t, dir, "repack", "-q", "-a", "-d", "-k")
						agent(t, dir, "prune-packed", "-q")
					}
					before := maps.Clone(files)
					for range rapid.IntRange(0, 4).Draw(rt, "edits") {
						put(name.Draw(rt, "name"))
					}
					for _, gone := range slices.Sorted(maps.Keys(files)) {
						if rapid.IntRange(0, 3).Draw(rt, "remove") == 0 {
							delete(files, gone)
						}
					}
					var edits []Edit
					for name := range before {
						if _, ok := files[name]; !ok {
							edits = append(edits, Edit{Path: name})
						}
					}
					for name, e := range files {
						if before[name] != e {
							edits = append(edits, e)
						}
					}
					got, err := r.EditTree(t.Context(), tree, edits)
					if err != nil {
						rt.Fatal(err)
					}
					want, err := byIndex(r, files)
					if err != nil {
						rt.Fatal(err)
					}
					if got != want {
						rt.Fatalf("%q make %s of %s, git makes %s", edits, got, tree, want)
					}
					tree = got
				}
			})
		})
	}
}

func TestATreeThatCannotBeEditedIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := must[Repo](t)(Program{}.Init(t.Context(), filepath.Join(t.TempDir(), "git"), SHA1))
	blob := must[string](t)(r.PutBlob(SHA1, []byte("x")))
	tree := must[string](t)(byIndex(r, map[string]Edit{"dir/a": {"dir/a", ModeFile, blob}}))
	for name, edits := range map[string][]Edit{
		"out of the tree":    {{"../a", ModeFile, blob}},
		"absolute":           {{"/a", ModeFile, blob}},
		"the tree itself":    {{".", ModeFile, blob}},
		"no name":            {{"", ModeFile, blob}},
		"no object":          {{"a", ModeFile, "x"}},
		"another format":     {{"a", ModeFile, blob + blob[:24]}},
		"no object, further": {{"dir/b", ModeFile, ""}},
	} {
		if got, err := r.EditTree(t.Context(), tree, edits); err == nil {
			t.Errorf("%s: made %s", name, got)
		}
	}
	if got, err := r.EditTree(t.Context(), strings.Repeat("0", 40), []Edit{{"a", ModeFile, blob}}); err == nil {
		t.Errorf("a tree that does not exist: made %s", got)
	}
	spoilt := filepath.Join(r.Objects(), tree[:2], tree[2:])
	check(t, os.Chmod(spoilt, 0o600))
	check(t, os.Truncate(spoilt, 10))
	if got, err := r.EditTree(t.Context(), tree, []Edit{{"a", ModeFile, blob}}); err == nil {
		t.Errorf("half a tree: made %s", got)
	}
}
