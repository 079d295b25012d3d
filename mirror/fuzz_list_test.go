package mirror

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzListing reads arbitrary listings of a leader. Only plain paths are queued, at most one for each line. No file
// outside of the folder changes, and no file is removed unless a line removes it. A listing without a cursor is an
// error.
func FuzzListing(f *testing.F) {
	f.Add(`{"path":"runs/a.log","size":4,"mtime":1}`+"\n"+`{"path":"kept","removed":true}`+"\n"+`{"cursor":"s.1"}`+"\n", true)
	f.Add(`{"path":"../outside","removed":true}`+"\n"+`{"path":"link/outside","removed":true}`+"\n"+`{"cursor":"s.1"}`, false)
	f.Add(`{"path":"kept/x","size":-1}`+"\n"+`{"path":"link/x","size":1}`+"\n"+`{"error":"no"}`, false)
	f.Add(strings.Repeat(`{"path":"a/b"}`+"\n"+`{"path":"a/b","removed":true}`+"\n", 5), false)
	f.Add(`{"path":"a"}`+"\n", true)
	f.Add(strings.Repeat("x", 5000), true)
	f.Fuzz(func(t *testing.T, text string, all bool) {
		dir := t.TempDir()
		below, outside := filepath.Join(dir, "below"), filepath.Join(dir, "outside")
		must(t, os.Mkdir(below, 0o700))
		must(t, os.WriteFile(outside, []byte("mine"), 0o600))
		must(t, os.WriteFile(filepath.Join(below, "kept"), []byte("mine"), 0o600))
		must(t, os.Symlink(dir, filepath.Join(below, "link")))
		root, err := os.OpenRoot(below)
		must(t, err)
		defer root.Close()
		s := &pull{Puller: &Puller{Dir: below, Log: slog.New(slog.DiscardHandler)}, root: root, known: map[string]string{}, fresh: newQueue(), bulk: newQueue()}
		cursor, err := s.readList(strings.NewReader(text), all, nil)
		if (err == nil) != (cursor != "") || len(cursor) > maxLine {
			t.Fatalf("%q ends with the cursor %q and %v", text, cursor, err)
		}
		if n := len(s.fresh.paths) + len(s.bulk.paths); n > strings.Count(text, "\n")+1 {
			t.Fatalf("%d paths are queued", n)
		}
		for _, path := range append(s.fresh.paths, s.bulk.paths...) {
			if checkPath(path) != nil || !filepath.IsLocal(path) {
				t.Fatalf("%q is queued", path)
			}
		}
		if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
			t.Fatalf("outside is %q (%v)", b, err)
		}
		if _, err := os.Stat(filepath.Join(below, "kept")); err != nil && !strings.Contains(strings.ToLower(text), "removed") && !strings.Contains(text, `\u`) {
			t.Fatalf("%q removed a file", text)
		}
	})
}

// The memory for a listing that names and removes the same file many times is bounded.
func TestAListingThatNamesAndRemovesAFileForEverIsBounded(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	s := &pull{Puller: &Puller{Log: slog.New(slog.DiscardHandler)}, root: root, known: map[string]string{}, fresh: newQueue(), bulk: newQueue()}
	text := `{"path":"first"}` + "\n" + strings.Repeat(`{"path":"a"}`+"\n"+`{"path":"a","removed":true}`+"\n", 5000) + `{"path":"a"}` + "\n" + `{"path":"last"}` + "\n" + `{"cursor":"s.1"}`
	if _, err := s.readList(strings.NewReader(text), false, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(s.fresh.paths); n > 1100 {
		t.Errorf("%d places are kept for three files", n)
	}
	var order []string
	for !s.fresh.empty() {
		order = append(order, s.fresh.pop())
	}
	if got := strings.Join(order, " "); got != "first a last" {
		t.Errorf("they are fetched as %q", got)
	}
}
