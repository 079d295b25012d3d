package workspace

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"svc/git"
)

// ignored says what becomes of files that the folder's rules ignore: those that the agent's own index has are put into ours (added
// with force, or ignored after they were committed), and others are taken out of it, such as a file that was kept before somebody
// wrote a rule for it. Asking costs as much as a status, so it is asked only when the agent's index (ignoredSeen) or a rule is another one than
// at the last checkpoint. An index that cannot be read says nothing: all stays as it was.
func (h Host) ignored(ctx context.Context, tree git.Tree, r *Record) (remove, put []string, err error) {
	seen := h.ignoredSeen(*r)
	dir, _ := h.gitDirs(*r)
	index := h.keep(r.ID, "agent.index")
	defer os.Remove(index)
	if copyForeign(dir, "index", index) != nil {
		return nil, nil, nil
	}
	theirs, err := git.Tree{Repo: tree.Repo, Root: tree.Root, Index: index}.TrackedIgnored(ctx)
	if err != nil {
		return nil, nil, ctx.Err() // an index of the agent's making, which git may not understand
	}
	ours, err := tree.TrackedIgnored(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.Ignored = seen
	return without(ours, theirs), without(theirs, ours), nil
}

// rulesChanged tells that changes are about a file with rules of what is ignored.
func rulesChanged(c git.Changes) bool {
	rule := func(name string) bool { return path.Base(name) == ".gitignore" }
	return slices.ContainsFunc(slices.Concat(c.Changed, c.New, c.Removed), rule)
}

// ignoredSeen is a mark of the files that say what is tracked and, besides .gitignore, ignored; it changes when they do.
func (h Host) ignoredSeen(r Record) (mark string) {
	dir, common := h.gitDirs(r)
	for _, name := range []string{filepath.Join(dir, "index"), filepath.Join(common, "info", "exclude")} {
		info, err := os.Lstat(name)
		if err != nil {
			mark += "none "
			continue
		}
		inode := uint64(0)
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			inode = stat.Ino
		}
		mark += fmt.Sprintf("%d:%d:%d ", inode, info.Size(), info.ModTime().UnixNano())
	}
	return mark
}

// without is a list less what another one has.
func without(list, other []string) (rest []string) {
	has := map[string]bool{}
	for _, name := range other {
		has[name] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return has[name] })
}
