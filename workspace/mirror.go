package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"svc"
	"svc/git"
)

// base is where a working copy begins.
type base struct {
	ref, commit string
	fetchedAt   svc.Time
}

// Failure is why a workspace could not be prepared: what is told of it to people. The workspace is failed.
type Failure struct {
	Kind string // svc.BaseUnavailable, svc.BaseLacks or svc.SetupFailed
	Err  error
}

// Error begins with the kind.
func (f *Failure) Error() string { return f.Kind + ": " + reason(f.Err) }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// reason prefers git's own words.
func reason(err error) string {
	var failure *git.Failure
	if errors.As(err, &failure) {
		return failure.Line()
	}
	return err.Error()
}

func unavailable(err error) error { return &Failure{svc.BaseUnavailable, err} }

// fetch brings the repository's mirror up to date and answers where a working copy begins. Nothing older than what the remote
// has said just now is ever taken for the base.
func (h Host) fetch(ctx context.Context, source svc.Source, out io.Writer) (from base, err error) {
	// Without a lock: a credential helper may leave a daemon running, which would inherit it.
	free := h.Git
	free.Hold = nil
	remote, err := free.ListRemote(ctx, source.Repo)
	if err != nil {
		return base{}, unavailable(err)
	}
	branch, err := chooseBranch(remote, source.Base)
	if err != nil {
		return base{}, unavailable(err)
	}
	l, err := hold(ctx, h.mirror(source.Repo)+".lock")
	if err != nil {
		return base{}, err
	}
	defer func() { l.release(err) }()
	mirror, err := h.openMirror(ctx, l, source.Repo, git.FormatOf(remote.Heads[branch]))
	if err != nil {
		return base{}, err
	}
	current, err := mirror.Mirrors(ctx, remote)
	if err != nil {
		return base{}, err
	}
	if !current {
		if err := mirror.Fetch(ctx, source.Repo, []string{"refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"}, out); err != nil {
			return base{}, unavailable(err)
		}
	}
	if err := pointHead(mirror, "refs/heads/"+remote.Default); err != nil {
		return base{}, err
	}
	commit, err := mirror.Commit(ctx, "refs/heads/"+branch)
	if err != nil {
		return base{}, unavailable(err)
	}
	return base{ref: branch, commit: commit, fetchedAt: h.now()}, nil
}

func chooseBranch(remote git.Remote, wanted string) (string, error) {
	branch := wanted
	if branch == "" {
		branch = remote.Default
	}
	switch {
	case len(remote.Heads) == 0:
		return "", errors.New("the repository has no commits")
	case branch == "":
		return "", errors.New("the repository names no default branch; the project must name its base")
	case remote.Heads[branch] == "":
		return "", noBranch(branch)
	}
	return branch, nil
}

// noBranch is a branch that a repository does not have.
type noBranch string

func (b noBranch) Error() string { return fmt.Sprintf("the repository has no branch %q", string(b)) }

// openMirror makes the mirror where it is missing, and removes what a killed git has left in it.
func (h Host) openMirror(ctx context.Context, l *lock, repo string, format git.Format) (git.Repo, error) {
	mirror := git.Repo{Program: l.under(h.Git), Dir: h.mirror(repo)}
	if _, err := os.Stat(mirror.Dir); err == nil && !l.cut {
		return mirror, nil
	}
	if err := mirror.Recover(); err != nil {
		return git.Repo{}, err
	}
	return mirror.Init(ctx, mirror.Dir, format)
}

// pointHead lets clones of the mirror know the remote's default branch.
func pointHead(mirror git.Repo, ref string) error {
	if head, err := git.ReadHead(mirror.Dir, mirror.Dir); ref == "refs/heads/" || err == nil && head.Ref == ref {
		return nil
	}
	return mirror.SetHead(ref)
}
