package git

import (
	"context"
	"path/filepath"
)

// Clone makes a repository whose working folder is still empty. The branches of from become those of the remote
// "origin", whose address is url. Objects are copied, not linked: with a hard link, a chmod in the clone would change
// the original. The returned repository is the folder's .git. The caller may use it only until others may write
// there.
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

// SetRemote adds a remote with the usual refspec to the repository.
func (r Repo) SetRemote(ctx context.Context, name, url string) error {
	_, err := r.line(ctx, "remote", "add", "--", name, url)
	return err
}
