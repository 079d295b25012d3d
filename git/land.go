package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Contains tells whether a commit is in the history of another one, or is that one itself. Both must be in the repository.
func (r Repo) Contains(ctx context.Context, tip, commit string) (bool, error) {
	_, err := r.run(ctx, call{args: []string{"merge-base", "--is-ancestor", commit, tip}})
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeTree merges the commit theirs into ours, in the repository alone: there is no folder, and no merge driver but git's own. It answers the
// tree of the result, or the paths in conflict. The error is ErrNotFound when the two share no history.
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
		return "", nil, fmt.Errorf("git merge-tree: unexpected answer %.200q", got.out)
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

// Refused is why a remote, or git on its behalf, did not move a branch.
type Refused struct {
	Why  string // as in "pre-receive hook declined"
	Said string // by the remote, in one line; empty: nothing
}

// Error is what the remote said.
func (e *Refused) Error() string {
	if e.Said == "" {
		return e.Why
	}
	return e.Why + ": " + e.Said
}

// Push lets a branch of a remote name a commit, if it names exactly the commit expected at that moment; empty: if there is no such
// branch. The caller sees to it that the commit descends from the expected one. The error is *Refused when the remote has answered. After any
// other error the branch may have moved: ask the remote.
func (r Repo) Push(ctx context.Context, url, ref, commit, expected string) error {
	return r.push(ctx, url, ref, commit, expected)
}

// TryPush is Push up to where the remote would be told what to do. After any error nothing has moved.
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

// refusal reads the line of a push's answer that tells of a branch that did not move: "!\t<from>:<to>\t[remote rejected] (reason)".
func refusal(listing string) (why string, refused bool) {
	for line := range strings.Lines(listing) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) != 3 || fields[0] != "!" {
			continue
		}
		if strings.HasPrefix(fields[2], "[remote failure]") { // it ended before it had answered
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

// remoteWords is what the other side of a call said, in one line.
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

// Touched are the paths in which two revisions differ.
type Touched struct {
	All     []string
	Added   []string // those that the first one does not have
	Removed []string // those that the second one does not have
}

// Touched lists the paths in which two revisions differ; a renamed file is two of them.
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

// IndexTree is the tree that the index would be written as. Nothing is stored.
func (t Tree) IndexTree(ctx context.Context) (string, error) {
	got, err := t.run(ctx, call{args: []string{"write-tree", "--missing-ok"}})
	return strings.TrimSpace(string(got.out)), err
}

// Flagged tells whether the index has files that git was told not to look at: assume-unchanged, skip-worktree.
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

// Filtered lists those of the paths whose content a program converts on its way between folder and repository, by the attributes in the folder.
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
