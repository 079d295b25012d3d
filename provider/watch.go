package provider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// maxLinks bounds the symbolic links that are followed, as the system does.
const maxLinks = 40

// entry is a name in a directory whose change can change which file a path leads to, or its content.
type entry struct{ dir, name string }

// trail lists the entries on the way to a file: every symbolic link on it and the file itself or, when
// the way ends early, the first name that is missing. Directories are given without links, which is
// how the watcher names them.
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

// steps splits a path into names, without resolving "..": after a link it leads elsewhere.
func steps(path string) (names []string) {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// watchList is what is watched for one file. Directories are watched rather than the file, because
// editors replace files and links are moved.
type watchList struct {
	watcher *fsnotify.Watcher
	way     func(path string) []entry // trail, but for tests
	dirs    map[string]bool
	entries map[entry]bool
}

// rearm bounds the looks at a way that changes while its watches are set up. When it does not come to
// rest, the events of the last change lead to the next look.
const rearm = 5

// arm watches the way to the file as it is now. Adding a directory again is harmless and needed: a
// new directory may stand where an old one was.
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
		// A link that was moved before its directory was watched made no event.
		again := w.way(path)
		if slices.Equal(again, way) {
			break
		}
		way = again
	}
	for _, dir := range w.watcher.WatchList() {
		if !dirs[dir] {
			_ = w.watcher.Remove(dir) // it may be gone, and its watch with it
		}
	}
	w.dirs, w.entries = dirs, entries
	return failed
}

// concerns reports whether an event is about the way to the file. The directories hold other files that
// change all the time.
func (w *watchList) concerns(e fsnotify.Event) bool {
	if w.entries[entry{filepath.Dir(e.Name), filepath.Base(e.Name)}] {
		return true
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	return gone && w.dirs[e.Name]
}
