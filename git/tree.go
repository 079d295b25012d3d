package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Tree is a folder with files, together with a repository of the caller and an index that the caller chooses. Others
// may write to the folder: nothing in it is executed, whatever a .git inside it contains.
type Tree struct {
	Repo
	// Root is the folder, absolute. Everything in it is read, except entries with the name .git.
	Root string
	// Index is the index file, absolute. If it does not exist, the index is empty.
	Index string
	// Split stores most of the index in a second file, in the repository's folder, so that a change of a few entries
	// does not rewrite all of them. The second file is never changed. Such an index is useless without its
	// repository.
	Split bool
}

// indexing makes an index survive a power cut too, once the caller has synced a file afterwards.
var indexing = setting{"core.fsync", "added"}

// splitting are the settings of a split index. Git updates the time of the second file each time it reads it, and
// removes such files after five minutes without use.
var splitting = []setting{{"core.splitIndex", "true"}, {"splitIndex.maxPercentChange", "20"}, {"splitIndex.sharedIndexExpire", "5.minutes.ago"}}

func (t Tree) run(ctx context.Context, c call) (answer, error) {
	c.env = append(c.env, "GIT_WORK_TREE="+t.Root, "GIT_INDEX_FILE="+t.Index)
	c.dir, c.foreign = t.Root, true
	c.conf = append(c.conf, indexing)
	if t.Split {
		c.conf = append(c.conf, splitting...)
	}
	return t.Repo.run(ctx, c)
}

// Faithful reports whether the file system keeps modes and links, so that a file's mode is the one that git would
// store. If it does not, git init has noted that in the repository's configuration.
func (t Tree) Faithful() bool {
	config, err := os.ReadFile(filepath.Join(t.Dir, "config"))
	text := string(config)
	return err == nil && strings.Contains(text, "filemode = true") && !strings.Contains(text, "symlinks = false")
}

// Changes are the differences between a folder and its index.
type Changes struct {
	Changed []string // files and links with another content, kind or mode, and submodules at another commit
	Removed []string
	New     []string // files and links that are neither in the index nor ignored
	// Nested are folders that are not in the index and are repositories themselves.
	Nested []string
	// Warnings describes what git could not read; empty: it has read everything.
	Warnings string
}

// Empty reports whether folder and index do not differ, as far as git could read the folder.
func (c Changes) Empty() bool {
	return len(c.Changed)+len(c.Removed)+len(c.New)+len(c.Nested) == 0
}

// Status compares the folder with the index, and updates the file times that the index stores for unchanged files.
func (t Tree) Status(ctx context.Context) (Changes, error) {
	// The state inside a submodule is ignored (dirty): to determine it, git would execute itself there, with that
	// config.
	got, err := t.run(ctx, call{args: []string{
		"status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty", "--no-ahead-behind",
	}})
	if err != nil {
		return Changes{}, err
	}
	changes, err := parseStatus(string(got.out))
	changes.Warnings = got.said
	return changes, err
}

// parseStatus parses porcelain version 2: "1 <XY> <sub> <mH> <mI> <mW> <hH> <hI> <path>" and "? <path>".
func parseStatus(listing string) (Changes, error) {
	var c Changes
	for entry := range strings.SplitSeq(strings.TrimSuffix(listing, "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		if path, ok := strings.CutPrefix(entry, "? "); ok {
			if dir, nested := strings.CutSuffix(path, "/"); nested {
				c.Nested = append(c.Nested, dir)
			} else {
				c.New = append(c.New, path)
			}
			continue
		}
		fields := strings.SplitN(entry, " ", 9)
		if len(fields) != 9 || fields[0] != "1" || len(fields[1]) != 2 {
			return Changes{}, fmt.Errorf("git status: unexpected output %q", entry)
		}
		mode, path := fields[5], fields[8]
		switch worktree := fields[1][1]; {
		case worktree == '.':
		case worktree == 'D':
			c.Removed = append(c.Removed, path)
		case mode == gitlink && fields[4] != gitlink:
			// A file was replaced by a repository. Once the file is out of the index, a status lists the folder as
			// nested.
			c.Removed = append(c.Removed, path)
			c.Nested = append(c.Nested, path)
		default:
			c.Changed = append(c.Changed, path)
		}
	}
	return c, nil
}

// gitlink is the mode of a submodule: an entry that names a commit of another repository.
const gitlink = "160000"

// Files lists the files in the folder that are not ignored, as if the index were empty. Nested repositories are
// listed apart. The lists are complete if warnings is empty.
func (t Tree) Files(ctx context.Context) (files, nested []string, warnings string, err error) {
	t.Index = filepath.Join(t.Dir, "none")
	got, err := t.run(ctx, call{args: []string{"ls-files", "-z", "--others", "--exclude-standard"}})
	if err != nil {
		return nil, nil, "", err
	}
	for _, path := range split(got.out) {
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			nested = append(nested, dir)
		} else {
			files = append(files, path)
		}
	}
	return files, nested, got.said, nil
}

// Update changes paths in the index: the paths in remove are removed; for the paths in put, the current content of
// the folder is stored. A path in put that no longer exists is removed too. warnings describes what git did not
// store; empty: everything is stored.
func (t Tree) Update(ctx context.Context, remove, put []string) (warnings string, err error) {
	var said []string
	if len(remove) > 0 {
		got, err := t.run(ctx, call{
			args: []string{"update-index", "-z", "--force-remove", "--stdin"}, stdin: joined(remove),
		})
		if err != nil {
			return "", err
		}
		said = append(said, got.said)
	}
	if len(put) > 0 {
		got, err := t.run(ctx, call{
			args: []string{"update-index", "-z", "--add", "--remove", "--replace", "--stdin"}, stdin: joined(put),
		})
		if err != nil {
			return "", err
		}
		said = append(said, got.said)
	}
	return strings.TrimSpace(strings.Join(said, "\n")), nil
}

// WriteTree stores the index as a tree.
func (t Tree) WriteTree(ctx context.Context) (string, error) {
	got, err := t.run(ctx, call{args: []string{"write-tree"}})
	return strings.TrimSpace(string(got.out)), err
}

// Read fills the index from a revision. The folder is not read.
func (t Tree) Read(ctx context.Context, rev string) error {
	_, err := t.run(ctx, call{args: []string{"read-tree", "--reset", rev}})
	return err
}

// Checkout sets folder and index to a revision. Files that are not in the index are overwritten if they are in the
// way.
func (t Tree) Checkout(ctx context.Context, rev string) error {
	_, err := t.run(ctx, call{args: []string{"read-tree", "--reset", "-u", rev}})
	return err
}

// Unmerged lists the paths of which the index has several versions: unresolved conflicts.
func (t Tree) Unmerged(ctx context.Context) ([]string, error) {
	got, err := t.run(ctx, call{args: []string{"ls-files", "-z", "--unmerged"}})
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range split(got.out) {
		_, path, _ := strings.Cut(entry, "\t")
		if n := len(paths); n == 0 || paths[n-1] != path {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Submodules lists the paths at which the index has submodules: commits of other repositories.
func (t Tree) Submodules(ctx context.Context) ([]string, error) {
	got, err := t.run(ctx, call{args: []string{"ls-files", "-z", "--stage"}})
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range split(got.out) {
		if _, path, _ := strings.Cut(entry, "\t"); strings.HasPrefix(entry, gitlink) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Ignored lists files that the folder's rules ignore and that also match a pattern file in the syntax of .gitignore.
// Files in the index are never listed.
func (t Tree) Ignored(ctx context.Context, patterns string) ([]string, error) {
	ignored, err := t.run(ctx, call{args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard"}})
	if err != nil {
		return nil, err
	}
	named, err := t.run(ctx, call{args: []string{
		"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + patterns,
	}})
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, path := range split(ignored.out) {
		is[path] = true
	}
	var both []string
	for _, path := range split(named.out) {
		if is[path] && filepath.IsLocal(path) {
			both = append(both, path)
		}
	}
	return both, nil
}

// TrackedIgnored lists files that are in the index although the folder's rules ignore them.
func (t Tree) TrackedIgnored(ctx context.Context) ([]string, error) {
	got, err := t.run(ctx, call{args: []string{"ls-files", "-z", "--cached", "--ignored", "--exclude-standard"}})
	return split(got.out), err
}

func split(listing []byte) []string {
	text := strings.TrimSuffix(string(listing), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

func joined(paths []string) *strings.Reader {
	return strings.NewReader(strings.Join(paths, "\x00") + "\x00")
}
