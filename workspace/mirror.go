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

// base is the branch and commit at which a working copy starts.
type base struct {
	ref, commit string
	fetchedAt   svc.Time
}

// Failure is the reason, for people, why a workspace could not be prepared. The workspace is failed.
type Failure struct {
	Kind string // svc.BaseUnavailable, svc.BaseLacks or svc.SetupFailed
	Err  error
}

// Error returns the kind, a colon and the reason.
func (f *Failure) Error() string { return f.Kind + ": " + reason(f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// reason returns git's own message if there is one, and the error's text otherwise.
func reason(err error) string {
	var failure *git.Failure
	if errors.As(err, &failure) {
		return failure.Line()
	}
	return err.Error()
}

func unavailable(err error) error { return &Failure{svc.BaseUnavailable, err} }

// fetch updates the repository's mirror and returns where a working copy starts. The base is always a commit that the
// remote has listed during this call.
func (h Host) fetch(ctx context.Context, source svc.Source, out io.Writer) (from base, err error) {
	// Without the lock's file: a credential helper may leave a daemon running, which would inherit it and hold the
	// lock.
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

// noBranch is the error that a repository does not have a branch.
type noBranch string

func (b noBranch) Error() string { return fmt.Sprintf("the repository has no branch %q", string(b)) }

// openMirror makes the mirror if it is missing, and removes what a killed git has left in it.
func (h Host) openMirror(ctx context.Context, l *lock, repo string, format git.Format) (git.Repo, error) {
	mirror := git.Repo{Program: l.under(h.Git), Dir: h.mirror(repo)}
	if _, err := os.Stat(mirror.Dir); err == nil && !l.interrupted {
		return mirror, nil
	}
	if err := mirror.Recover(); err != nil {
		return git.Repo{}, err
	}
	return mirror.Init(ctx, mirror.Dir, format)
}

// pointHead sets the mirror's HEAD to the remote's default branch, so that clones of the mirror have it.
func pointHead(mirror git.Repo, ref string) error {
	if head, err := git.ReadHead(mirror.Dir, mirror.Dir); ref == "refs/heads/" || err == nil && head.Ref == ref {
		return nil
	}
	return mirror.SetHead(ref)
}
