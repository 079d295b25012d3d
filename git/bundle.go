package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bundle writes a ref with its history, apart from what the commit base has, as a git bundle. The error is ErrTooLarge as
// soon as it has more than max bytes; what was written then is of no use.
func (r Repo) Bundle(ctx context.Context, w io.Writer, ref, base string, max int64) error {
	_, err := r.run(ctx, call{
		args: []string{"bundle", "create", "--quiet", "-", ref, "^" + base}, out: w, max: max,
	})
	return err
}

// Unbundle takes the objects of a bundle into the repository and answers the refs it names. Every object is checked, and
// the commits that it was made on top of must be there.
func (r Repo) Unbundle(ctx context.Context, file string) ([]Ref, error) {
	got, err := r.run(ctx, call{args: []string{"bundle", "unbundle", file}})
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range strings.Lines(string(got.out)) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !IsOID(oid) {
			return nil, fmt.Errorf("git bundle: unexpected answer %q", line)
		}
		refs = append(refs, Ref{name, oid})
	}
	return refs, nil
}

// plainDiff is how differences are computed: by git alone, the same on every host.
var plainDiff = []string{
	"-r", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--ignore-submodules=dirty",
}

// Patch writes the difference of two revisions as "git apply" takes it, binary files included. The error is ErrTooLarge
// as soon as it has more than max bytes.
func (r Repo) Patch(ctx context.Context, w io.Writer, from, to string, max int64) error {
	args := append([]string{"diff-tree", "--patch", "--binary", "--full-index"}, plainDiff...)
	_, err := r.run(ctx, call{args: append(args, from, to), out: w, max: max, foreign: true})
	return err
}

// Stat is the size of a difference. A binary file counts as a file without lines.
type Stat struct{ Files, Additions, Deletions int }

// DiffStat counts the difference of two revisions.
func (r Repo) DiffStat(ctx context.Context, from, to string) (Stat, error) {
	got, err := r.run(ctx, call{args: append(append([]string{"diff-tree", "--numstat", "-z"}, plainDiff...), from, to), foreign: true})
	if err != nil {
		return Stat{}, err
	}
	return parseNumstat(split(got.out))
}

// parseNumstat reads "<added>\t<deleted>\t<path>". A renamed file has an empty path and two more entries, its paths.
func parseNumstat(entries []string) (Stat, error) {
	var s Stat
	for len(entries) > 0 {
		fields := strings.SplitN(entries[0], "\t", 3)
		if len(fields) != 3 {
			return Stat{}, fmt.Errorf("git diff-tree: unexpected answer %q", entries[0])
		}
		entries = entries[1:]
		if fields[2] == "" && len(entries) >= 2 {
			entries = entries[2:]
		}
		s.Files++
		added, err1 := strconv.Atoi(fields[0])
		deleted, err2 := strconv.Atoi(fields[1])
		if errors.Join(err1, err2) == nil { // "-" stands for a binary file
			s.Additions += added
			s.Deletions += deleted
		}
	}
	return s, nil
}
