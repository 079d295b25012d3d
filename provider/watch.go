package provider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// maxLinks bounds the symbolic links that are followed, like the system's own limit.
const maxLinks = 40

// entry is a name in a directory. A change of it can change which file a path leads to, or that file's content.
type entry struct{ dir, name string }

// trail returns the entries on the path to a file: every symbolic link on it and the file itself or, if the
// path ends early, the first missing name. Directories are returned with links resolved, as the watcher reports
// them.
func trail(path string) []entry {
	var entries []entry
	dir, rest := "/", steps(path)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		here := filepath.Join(dir, name)
		info, err := os.Lstat(here)
		switch {
		case err != nil:
			return append(entries, entry{dir, name})
		case info.Mode()&os.ModeSymlink != 0:
			links++
			entries = append(entries, entry{dir, name})
			target, err := os.Readlink(here)
			if err != nil {
				return entries
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = append(steps(target), rest...)
		case len(rest) == 0:
			return append(entries, entry{dir, name})
		default:
			dir = here
		}
	}
	return entries
}

// steps splits a path into names, without resolving "..", which leads elsewhere after a link.
func steps(path string) (names []string) {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// watchList is the set of watches for one file. It watches directories and not the file, because editors
// replace files and links are moved.
type watchList struct {
	watcher *fsnotify.Watcher
	way     func(path string) []entry // trail; tests replace it
	dirs    map[string]bool
	entries map[entry]bool
}

// rearm bounds the repetitions for a path that changes while its watches are set up. If it keeps changing, the
// events of the last change cause the next call.
const rearm = 5

// arm watches the current path to the file. Adding a directory again is harmless and necessary, since a new
// directory may have replaced the old one.
func (w *watchList) arm(path string) error {
	dirs, entries := map[string]bool{}, map[entry]bool{}
	var failed error
	way := w.way(path)
	for range rearm {
		failed = nil
		clear(dirs)
		clear(entries)
		for _, s := range way {
			dirs[s.dir], entries[s] = true, true
			if err := w.watcher.Add(s.dir); err != nil {
				failed = err
			}
		}
		// A link that was moved before its directory was watched caused no event.
		again := w.way(path)
		if slices.Equal(again, way) {
			break
		}
		way = again
	}
	for _, dir := range w.watcher.WatchList() {
		if !dirs[dir] {
			_ = w.watcher.Remove(dir) // the directory may be gone, and its watch with it
		}
	}
	w.dirs, w.entries = dirs, entries
	return failed
}

// concerns reports whether an event is about the path to the file. The directories contain other files that
// change often.
func (w *watchList) concerns(e fsnotify.Event) bool {
	if w.entries[entry{filepath.Dir(e.Name), filepath.Base(e.Name)}] {
		return true
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	return gone && w.dirs[e.Name]
}
