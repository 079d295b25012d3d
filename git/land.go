package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Contains reports whether commit is in the history of tip, or is tip itself. Both must be in the repository.
func (r Repo) Contains(ctx context.Context, tip, commit string) (bool, error) {
	_, err := r.run(ctx, call{args: []string{"merge-base", "--is-ancestor", commit, tip}})
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeTree merges the commit theirs into ours, within the repository: it needs no folder and runs no merge driver
// except git's own. It returns the tree of the result, or the paths in conflict. The error is ErrNotFound if the two
// share no history.
func (r Repo) MergeTree(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	if _, err := r.MergeBase(ctx, ours, theirs); err != nil {
		return "", nil, err
	}
	got, err := r.run(ctx, call{args: []string{"merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ours, theirs}})
	if err != nil && exitCode(err) != 1 {
		return "", nil, err
	}
	entries := split(got.out)
	if len(entries) == 0 || !IsOID(entries[0]) {
		return "", nil, fmt.Errorf("git merge-tree: unexpected output %.200q", got.out)
	}
	if err == nil {
		return entries[0], nil, nil
	}
	for _, path := range entries[1:] {
		if path != "" {
			conflicts = append(conflicts, path)
		}
	}
	if len(conflicts) == 0 {
		return "", nil, err
	}
	return "", conflicts, nil
}

// Refused is the error if a remote, or git on its behalf, has refused to move a branch.
type Refused struct {
	Why  string // for example "pre-receive hook declined"
	Said string // the remote's message in one line; empty: none
}

// Error returns the reason and the remote's message.
func (e *Refused) Error() string {
	if e.Said == "" {
		return e.Why
	}
	return e.Why + ": " + e.Said
}

// Push sets a branch of a remote to a commit if the branch names the commit expected at that moment; if expected is
// empty, the branch must not exist. The caller must ensure that the commit descends from expected. The error is
// *Refused if the remote has answered. After any other error the branch may have moved, and the caller must list the
// remote to find out.
func (r Repo) Push(ctx context.Context, url, ref, commit, expected string) error {
	return r.push(ctx, url, ref, commit, expected)
}

// TryPush is Push as a dry run: it ends before the remote is asked to move the branch. Nothing moves, whatever it
// returns.
func (r Repo) TryPush(ctx context.Context, url, ref, commit, expected string) error {
	return r.push(ctx, url, ref, commit, expected, "--dry-run")
}

func (r Repo) push(ctx context.Context, url, ref, commit, expected string, flags ...string) error {
	c, err := r.reach(ctx)
	if err != nil {
		return err
	}
	c.args = append([]string{"push"}, flags...)
	c.args = append(c.args, "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+expected, "--", url, commit+":"+ref)
	got, err := r.run(ctx, c)
	if why, refused := refusal(string(got.out)); err != nil && refused {
		return &Refused{Why: why, Said: remoteWords(err)}
	}
	return err
}

// refusal finds the line "!\t<from>:<to>\t[remote rejected] (reason)" in the output of a push, which means that the
// branch did not move.
func refusal(listing string) (why string, refused bool) {
	for line := range strings.Lines(listing) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) != 3 || fields[0] != "!" {
			continue
		}
		if strings.HasPrefix(fields[2], "[remote failure]") { // the remote ended before it had answered
			return "", false
		}
		_, why, ok := strings.Cut(fields[2], "(")
		if !ok {
			return fields[2], true
		}
		return strings.TrimSuffix(why, ")"), true
	}
	return "", false
}

// remoteWords returns the remote's message in the output of a call, in one line.
func remoteWords(err error) string {
	var failure *Failure
	if !errors.As(err, &failure) {
		return ""
	}
	var words []string
	for line := range strings.Lines(failure.Said) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:"); ok && strings.TrimSpace(text) != "" {
			words = append(words, strings.TrimSpace(text))
		}
	}
	return strings.Join(words, "; ")
}

// Touched are the paths at which two revisions differ.
type Touched struct {
	All     []string
	Added   []string // those that the first one does not have
	Removed []string // those that the second one does not have
}

// Touched lists the paths at which two revisions differ. A renamed file counts as two paths.
func (r Repo) Touched(ctx context.Context, from, to string) (t Touched, err error) {
	got, err := r.run(ctx, call{args: []string{"diff-tree", "-r", "-z", "--no-commit-id", "--no-renames", "--name-status", from, to}})
	if err != nil {
		return t, err
	}
	entries := split(got.out)
	for i := 0; i+1 < len(entries); i += 2 {
		t.All = append(t.All, entries[i+1])
		switch entries[i] {
		case "A":
			t.Added = append(t.Added, entries[i+1])
		case "D":
			t.Removed = append(t.Removed, entries[i+1])
		}
	}
	return t, nil
}

// IndexTree stores the index as a tree and returns its name, like WriteTree. Unlike there, objects that the tree
// names may be missing.
func (t Tree) IndexTree(ctx context.Context) (string, error) {
	got, err := t.run(ctx, call{args: []string{"write-tree", "--missing-ok"}})
	return strings.TrimSpace(string(got.out)), err
}

// Flagged reports whether the index has files with the flag assume-unchanged or skip-worktree, whose changes git does
// not see.
func (t Tree) Flagged(ctx context.Context) (bool, error) {
	got, err := t.run(ctx, call{args: []string{"ls-files", "-v", "-z"}})
	if err != nil {
		return false, err
	}
	for _, entry := range split(got.out) {
		if entry != "" && entry[0] != 'H' && entry[0] != 'M' {
			return true, nil
		}
	}
	return false, nil
}

// Filtered lists those of the paths that have a filter attribute in the folder: a program may convert their content
// between folder and repository.
func (t Tree) Filtered(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	got, err := t.run(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: joined(paths)})
	if err != nil {
		return nil, err
	}
	var found []string
	entries := split(got.out)
	for i := 0; i+2 < len(entries); i += 3 {
		if value := entries[i+2]; value != "unspecified" && value != "unset" {
			found = append(found, entries[i])
		}
	}
	return found, nil
}
