package git

import (
	"context"
	"path/filepath"
)

// Clone makes a repository with a working folder that is still empty: branches of from become those of the remote
// "origin", whose address is url. Objects are copied, not linked: a link shares the file's mode and content, so
// that a chmod in the clone would reach the original. The repository is the folder's .git; it is the caller's until
// somebody else may write there.
func (p Program) Clone(ctx context.Context, from Repo, dir, url string) (Repo, error) {
	_, err := p.exec(ctx, call{args: []string{
		"clone", "--quiet", "--local", "--no-hardlinks", "--no-checkout", "--template=", "--origin=origin", "--", from.Dir, dir,
	}})
	if err != nil {
		return Repo{}, err
	}
	r := Repo{Program: p, Dir: filepath.Join(dir, ".git")}
	_, err = p.exec(ctx, call{args: []string{"config", "--file", filepath.Join(r.Dir, "config"), "remote.origin.url", url}})
	return r, err
}

// SetRemote gives the repository a remote with the usual refspec.
func (r Repo) SetRemote(ctx context.Context, name, url string) error {
	_, err := r.line(ctx, "remote", "add", "--", name, url)
	return err
}
