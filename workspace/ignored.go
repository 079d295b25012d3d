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

// ignored returns which ignored files must be removed from the private index and which must be put into it. An
// ignored file belongs into it exactly if the agent's index has it: it was added with force, or ignored after it was
// committed. Other ignored files are removed, such as a file that was stored before a rule for it was written. This
// costs as much as a status. It is therefore called only if ignoredSeen or a rule has changed since the last
// checkpoint. If the agent's index cannot be read, nothing changes.
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
		return nil, nil, ctx.Err() // the agent wrote this index, and git may not understand it
	}
	ours, err := tree.TrackedIgnored(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.Ignored = seen
	return without(ours, theirs), without(theirs, ours), nil
}

// rulesChanged reports whether a .gitignore file has changed.
func rulesChanged(c git.Changes) bool {
	rule := func(name string) bool { return path.Base(name) == ".gitignore" }
	return slices.ContainsFunc(slices.Concat(c.Changed, c.New, c.Removed), rule)
}

// ignoredSeen returns inode, size and time of the agent's index and info/exclude. The text changes when one of them
// changes.
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

// without returns the names in list that are not in other.
func without(list, other []string) (rest []string) {
	has := map[string]bool{}
	for _, name := range other {
		has[name] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return has[name] })
}
