package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"svc/atomicfile"
	"svc/internal/clocktest"
	"svc/internal/textbuffer"
	"svc/internal/waittest"
)

// catalogWith returns a catalog with a single entry.
func catalogWith(id string) string { return "[providers." + id + "]\nbin = 'tool'\n" }

// watched is a registry with a running Run.
type watched struct {
	*Registry
	changes <-chan *Catalog
	errors  chan error
	log     *textbuffer.Buffer
	stop    func() // ends Run and waits for it
}

func watch(t *testing.T, path string) watched {
	t.Helper()
	w := watched{errors: make(chan error, 100), log: &textbuffer.Buffer{}}
	var err error
	w.Registry, err = Open(path, Options{Logger: slog.New(slog.NewTextHandler(w.log, nil)), OnError: func(err error) { w.errors <- err }})
	if err != nil {
		t.Fatal(err)
	}
	var cancelSubscription func()
	w.changes, cancelSubscription = w.Subscribe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		cancelSubscription()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// becomes waits until the active catalog has exactly these ids.
func (w watched) becomes(t *testing.T, ids ...string) {
	t.Helper()
	waittest.Eventually(t, fmt.Sprintf("the catalog has %v; it has %v", ids, w.Current().IDs()), func() bool { return slices.Equal(w.Current().IDs(), ids) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAChangedFileBecomesTheCatalog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(t *testing.T, dir, path string) // prepares more than the file itself
		change func(t *testing.T, dir, path string)
	}{
		{"truncated and written", nil, func(t *testing.T, _, path string) { write(t, path, catalogWith("b")) }},
		{"replaced by a rename", nil, func(t *testing.T, dir, path string) {
			write(t, filepath.Join(dir, "new"), catalogWith("b"))
			must(t, os.Rename(filepath.Join(dir, "new"), path))
		}},
		{"moved away and written anew", nil, func(t *testing.T, _, path string) {
			must(t, os.Rename(path, path+"~"))
			write(t, path, catalogWith("b"))
		}},
		{"its folder is replaced", nil, func(t *testing.T, dir, path string) {
			must(t, os.Mkdir(dir+".new", 0o700))
			write(t, filepath.Join(dir+".new", filepath.Base(path)), catalogWith("b"))
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Rename(dir+".new", dir))
		}},
		{"its folder is removed and made anew", nil, func(t *testing.T, dir, path string) {
			must(t, os.RemoveAll(dir))
			must(t, os.Mkdir(dir, 0o700))
			write(t, path, catalogWith("b"))
		}},
		{"a link's target is written", linkToElsewhere, func(t *testing.T, dir, _ string) {
			write(t, filepath.Join(dir, "elsewhere", "real.toml"), catalogWith("b"))
		}},
		{"a link's target is replaced", linkToElsewhere, func(t *testing.T, dir, _ string) {
			write(t, filepath.Join(dir, "elsewhere", "new"), catalogWith("b"))
			must(t, os.Rename(filepath.Join(dir, "elsewhere", "new"), filepath.Join(dir, "elsewhere", "real.toml")))
		}},
		{"a link is moved to another target", linkToElsewhere, func(t *testing.T, dir, path string) {
			write(t, filepath.Join(dir, "other.toml"), catalogWith("b"))
			must(t, os.Symlink("other.toml", filepath.Join(dir, "link")))
			must(t, os.Rename(filepath.Join(dir, "link"), path))
		}},
		// Mounted configuration is replaced as a whole in this way.
		{"a link on the way to it is moved", func(t *testing.T, dir, path string) {
			must(t, os.Mkdir(filepath.Join(dir, "v1"), 0o700))
			must(t, os.Rename(path, filepath.Join(dir, "v1", "real.toml")))
			must(t, os.Symlink("v1", filepath.Join(dir, "..data")))
			must(t, os.Symlink(filepath.Join("..data", "real.toml"), path))
		}, func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(filepath.Join(dir, "v2"), 0o700))
			write(t, filepath.Join(dir, "v2", "real.toml"), catalogWith("b"))
			must(t, os.Symlink("v2", filepath.Join(dir, "..tmp")))
			must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "providers.toml")
			write(t, path, catalogWith("a"))
			if tt.before != nil {
				tt.before(t, dir, path)
			}
			w := watch(t, path)
			w.becomes(t, "a")
			tt.change(t, dir, path)
			w.becomes(t, "b")
			if got := <-w.changes; !got.Has("b") {
				t.Errorf("the subscriber got %v", got.IDs())
			}
			// The file is watched at its new place.
			write(t, path, catalogWith("c"))
			w.becomes(t, "c")
		})
	}
}

func linkToElsewhere(t *testing.T, dir, path string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700))
	must(t, os.Rename(path, filepath.Join(dir, "elsewhere", "real.toml")))
	must(t, os.Symlink(filepath.Join(dir, "elsewhere", "real.toml"), path))
}

func TestALinkThatMovesWhileItsWatchIsSetUpIsFollowed(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	path := filepath.Join(dir, "providers.toml")
	write(t, path, catalogWith("a"))
	linkToElsewhere(t, dir, path)
	watcher, err := fsnotify.NewWatcher()
	must(t, err)
	defer func() { _ = watcher.Close() }()
	moved := false
	list := &watchList{watcher: watcher, way: func(path string) []entry {
		way := trail(path)
		if !moved {
			moved = true
			write(t, filepath.Join(dir, "other.toml"), catalogWith("b"))
			must(t, os.Remove(path))
			must(t, os.Symlink("other.toml", path))
		}
		return way
	}}
	must(t, list.arm(path))
	if got := watcher.WatchList(); !list.entries[entry{dir, "other.toml"}] || !slices.Equal(got, []string{dir}) {
		t.Errorf("watched are %v in %v", list.entries, got)
	}
}

func TestAChangeBetweenOpenAndRunIsNotMissed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	r, err := Open(path, Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	write(t, path, catalogWith("b"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	watched{Registry: r}.becomes(t, "b")
	cancel()
	must(t, <-done)
}

// swap replaces a file atomically.
func swap(t *testing.T, path, text string) {
	t.Helper()
	must(t, atomicfile.Replace(path, []byte(text), 0o600))
}

func TestABrokenCatalogLeavesTheOldOneInForceAndIsToldOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	w := watch(t, path)
	old := w.Current()
	swap(t, path, catalogWith("b")+"colour = 'red'\n")
	err := <-w.errors
	var problems Problems
	if !errors.As(err, &problems) || problems[0].Line != 3 || problems[0].Key != "providers.b.colour" {
		t.Errorf("got %v", err)
	}
	if w.Current() != old {
		t.Errorf("the catalog changed to %v", w.Current().IDs())
	}
	swap(t, path, "\n"+catalogWith("b")+"colour = 'red'\n") // the same mistake on another line
	if err := <-w.errors; !strings.Contains(err.Error(), "line 4") {
		t.Errorf("got %v", err)
	}
	must(t, os.Chtimes(path, time.Now(), time.Now())) // read again, but not reported again
	swap(t, path, catalogWith("c"))
	w.becomes(t, "c")
	if len(w.errors) != 0 {
		t.Errorf("reported again: %v", <-w.errors)
	}
	if text := w.log.String(); strings.Count(text, "refused") != 2 || !strings.Contains(text, "reloaded") {
		t.Errorf("log: %s", text)
	}
}

func TestAFileThatIsGoneLeavesTheOldOneInForceUntilItIsBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	w := watch(t, path)
	must(t, os.Remove(path))
	if err := <-w.errors; !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	write(t, path, catalogWith("a")) // exactly as it was
	waittest.Eventually(t, "all is well again", func() bool { return strings.Contains(w.log.String(), "valid again") })
	must(t, os.Remove(path))
	<-w.errors
	write(t, path, catalogWith("b"))
	w.becomes(t, "b")
}

func TestAnEmptiedFileIsNotAnEmptyCatalog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	w := watch(t, path)
	must(t, os.Truncate(path, 0))
	if err := <-w.errors; !strings.Contains(err.Error(), "is empty") {
		t.Errorf("got %v", err)
	}
	if !w.Current().Has("a") {
		t.Error("the old catalog is gone")
	}
}

func TestAHundredChangesInASecondAreAFewReloads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	w := watch(t, path)
	for i := range 100 {
		clocktest.Pause(10 * time.Millisecond)
		write(t, path, catalogWith(fmt.Sprint("n", i)))
	}
	w.becomes(t, "n99")
	w.stop()
	if w.reloads > 20 {
		t.Errorf("%d reloads", w.reloads)
	}
}

func TestOnlyEventsOnTheWayToTheFileCount(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	write(t, filepath.Join(dir, "real", "p.toml"), catalogWith("a"))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	watcher, err := fsnotify.NewWatcher()
	must(t, err)
	defer watcher.Close()
	list := &watchList{watcher: watcher, way: trail}
	must(t, list.arm(filepath.Join(dir, "link", "p.toml")))
	tests := []struct {
		name string
		op   fsnotify.Op
		want bool
	}{
		{"real/p.toml", fsnotify.Write, true},
		{"real/p.toml", fsnotify.Create, true},
		{"link", fsnotify.Create, true},
		{"real", fsnotify.Remove, true},
		{"real", fsnotify.Rename, true},
		{"real", fsnotify.Chmod, false},
		{"real/svc.db-wal", fsnotify.Write, false},
		{"svc.db", fsnotify.Write, false},
		{"p.toml", fsnotify.Write, false},
	}
	for _, tt := range tests {
		if got := list.concerns(fsnotify.Event{Name: filepath.Join(dir, tt.name), Op: tt.op}); got != tt.want {
			t.Errorf("%v of %s: got %v, want %v", tt.op, tt.name, got, tt.want)
		}
	}
	if want := []string{dir, filepath.Join(dir, "real")}; !slices.Equal(slices.Sorted(slices.Values(watcher.WatchList())), want) {
		t.Errorf("watched are %v, want %v", watcher.WatchList(), want)
	}
}

func TestARunKeepsTheEntryItWasStartedWith(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, "[providers.a]\nbin = 'old'\n")
	w := watch(t, path)
	started, err := w.Current().Entry("a")
	must(t, err)
	write(t, path, "[providers.a]\nbin = 'new'\n")
	<-w.changes
	next, err := w.Current().Entry("a")
	must(t, err)
	if started.Bin != "old" || next.Bin != "new" {
		t.Errorf("started with %s, next with %s", started.Bin, next.Bin)
	}
}

func TestASlowSubscriberGetsTheNewestAndACancelledOneNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	write(t, path, catalogWith("a"))
	r, err := Open(path, Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	slow, cancelSlow := r.Subscribe()
	defer cancelSlow()
	gone, cancel := r.Subscribe()
	cancel()
	for _, id := range []string{"b", "c", "d"} {
		write(t, path, catalogWith(id))
		r.reload()
	}
	if got := <-slow; !got.Has("d") || len(slow) != 0 {
		t.Errorf("got %v", got.IDs())
	}
	if len(gone) != 0 {
		t.Error("a cancelled subscriber got something")
	}
}

func TestTheFirstCatalogMustBeInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.toml")
	if _, err := Open(path, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	write(t, path, "[providers.x]")
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "line 1: providers.x.bin") {
		t.Errorf("broken: %v", err)
	}
}

func TestTheTrailOfALoopEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("b", filepath.Join(dir, "a")))
	must(t, os.Symlink("a", filepath.Join(dir, "b")))
	if entries := trail(filepath.Join(dir, "a")); len(entries) == 0 || len(entries) > 100 {
		t.Errorf("%d entries", len(entries))
	}
}

// A start with an invalid catalog uses the copy of the last valid one; only a first start has no copy.
func TestAStartWithABrokenCatalogTakesTheLastGoodOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "p.toml"), filepath.Join(dir, "data", "last-good.toml")
	must(t, os.Mkdir(filepath.Dir(kept), 0o700))
	open := func() (*Registry, error) {
		return Open(path, Options{Logger: slog.New(slog.DiscardHandler), LastGood: kept})
	}
	write(t, path, "[providers.a]\ncolour = 'red'\n")
	if r, err := open(); err == nil {
		t.Fatalf("a first start with a broken catalog has %v", r.Current().IDs())
	}

	write(t, path, catalogWith("a"))
	r, err := open()
	must(t, err)
	if r.Problem() != "" {
		t.Errorf("a catalog that is in order has the problem %q", r.Problem())
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	write(t, path, catalogWith("b"))
	r.reload()
	write(t, path, catalogWith("c")+"colour = 'red'\n")
	r.reload()
	if !r.Current().Has("b") || !strings.Contains(r.Problem(), "line 3") {
		t.Errorf("in force is %v, the problem %q", r.Current().IDs(), r.Problem())
	}

	r, err = open()
	must(t, err)
	if !r.Current().Has("b") || r.Current().Path() != path || !strings.Contains(r.Problem(), "line 3") {
		t.Errorf("after a restart in force is %v of %s, the problem %q", r.Current().IDs(), r.Current().Path(), r.Problem())
	}
	write(t, path, catalogWith("b")) // exactly the last good one
	r.reload()
	if r.Problem() != "" {
		t.Errorf("the problem stays: %q", r.Problem())
	}
	write(t, path, catalogWith("d"))
	r.reload()
	if data, err := os.ReadFile(kept); err != nil || !bytes.Equal(data, []byte(catalogWith("d"))) {
		t.Errorf("the copy is %q, %v", data, err)
	}
}
