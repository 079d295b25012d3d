package git

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Remote is the list of a remote's branches and tags.
type Remote struct {
	Default string            // the branch that its HEAD names; empty: it names none
	Heads   map[string]string // commits by branch
	Tags    map[string]string // objects by tag
}

// ListRemote lists the branches and tags of a remote. Nothing is fetched.
func (p Program) ListRemote(ctx context.Context, url string) (Remote, error) {
	c, err := p.reach(ctx)
	if err != nil {
		return Remote{}, err
	}
	c.args = []string{"ls-remote", "--quiet", "--symref", "--end-of-options", url, "HEAD", "refs/heads/*", "refs/tags/*"}
	// With GIT_LITERAL_PATHSPECS=1, git would not treat the patterns as patterns.
	c.env = append(c.env, "GIT_LITERAL_PATHSPECS=0", "GIT_DIR=/nonexistent")
	got, err := p.exec(ctx, c)
	if err != nil {
		return Remote{}, err
	}
	return parseRemote(string(got.out)), nil
}

// parseRemote parses lines of the forms "ref: refs/heads/main\tHEAD" and "<oid>\t<name>".
func parseRemote(listing string) Remote {
	r := Remote{Heads: map[string]string{}, Tags: map[string]string{}}
	for line := range strings.Lines(listing) {
		value, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ref, ok := strings.CutPrefix(value, "ref: "); ok && name == "HEAD" {
			r.Default, _ = strings.CutPrefix(ref, "refs/heads/")
			continue
		}
		if !IsOID(value) {
			continue
		}
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			r.Heads[branch] = value
		}
		// The commit that an annotated tag names is listed too, under the tag's name and "^{}".
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok && !strings.HasSuffix(tag, "^{}") {
			r.Tags[tag] = value
		}
	}
	return r
}

// Mirrors reports whether the repository has exactly the branches and tags of a remote, so that a fetch would change
// nothing.
func (r Repo) Mirrors(ctx context.Context, remote Remote) (bool, error) {
	refs, err := r.Refs(ctx, "refs/")
	if err != nil || len(refs) != len(remote.Heads)+len(remote.Tags) {
		return false, err
	}
	for _, ref := range refs {
		branch, isHead := strings.CutPrefix(ref.Name, "refs/heads/")
		tag, isTag := strings.CutPrefix(ref.Name, "refs/tags/")
		if isHead && remote.Heads[branch] != ref.OID || isTag && remote.Tags[tag] != ref.OID || !isHead && !isTag {
			return false, nil
		}
	}
	return true, nil
}

// Fetch fetches refs of a remote into the repository, with --force and --prune. A refspec is
// "refs/heads/*:refs/heads/*" or the full name of a commit. Git's progress messages go to show, which may be nil.
func (r Repo) Fetch(ctx context.Context, url string, refspecs []string, show io.Writer) error {
	c, err := r.reach(ctx)
	if err != nil {
		return err
	}
	c.args = []string{"fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force", "--prune"}
	if show == nil {
		c.args = append(c.args, "--quiet")
	} else {
		c.args, c.show = append(c.args, "--progress"), show
	}
	c.args = append(append(c.args, "--end-of-options", url), refspecs...)
	if _, err := r.run(ctx, c); err != nil {
		return err
	}
	return nil
}

// remotePrefixes are the prefixes of those keys in the configuration of the host's user that determine how a remote
// is reached.
var remotePrefixes = []string{"credential.", "http.", "https.", "url.", "ssh."}

// reach prepares a call that connects to a remote. It uses the ssh command, credential helpers, proxies and URL
// rewrites of the host's user, and none of that user's other settings.
func (p Program) reach(ctx context.Context) (call, error) {
	got, err := p.exec(ctx, call{
		args: []string{"config", "--list", "--null", "--includes"}, env: []string{"GIT_DIR=/nonexistent"}, userConfig: true,
	})
	if err != nil {
		return call{}, fmt.Errorf("read the git configuration of this host's user: %w", err)
	}
	var c call
	for _, s := range parseConfig(string(got.out)) {
		if s.key == "core.sshcommand" {
			c.env = append(c.env, "GIT_SSH_COMMAND="+s.value)
		}
		if slices.ContainsFunc(remotePrefixes, func(prefix string) bool { return strings.HasPrefix(s.key, prefix) }) {
			c.conf = append(c.conf, s)
		}
	}
	return c, nil
}

// parseConfig parses entries "key\nvalue" that end with NUL. Git prints section and name in lower case.
func parseConfig(listing string) []setting {
	var all []setting
	for entry := range strings.SplitSeq(listing, "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			all = append(all, setting{key, value})
		}
	}
	return all
}
