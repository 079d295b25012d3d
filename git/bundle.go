package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bundle writes a ref with its history, without the history of the commit base, as a git bundle. The error is
// ErrTooLarge as soon as the bundle has more than max bytes; what was written until then is incomplete.
func (r Repo) Bundle(ctx context.Context, w io.Writer, ref, base string, max int64) error {
	_, err := r.run(ctx, call{
		args: []string{"bundle", "create", "--quiet", "-", ref, "^" + base}, out: w, max: max,
	})
	return err
}

// Unbundle copies the objects of a bundle into the repository and returns the bundle's refs. Git checks every object,
// and the commits that the bundle was made on top of must exist.
func (r Repo) Unbundle(ctx context.Context, file string) ([]Ref, error) {
	got, err := r.run(ctx, call{args: []string{"bundle", "unbundle", file}})
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range strings.Lines(string(got.out)) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !IsOID(oid) {
			return nil, fmt.Errorf("git bundle: unexpected output %q", line)
		}
		refs = append(refs, Ref{name, oid})
	}
	return refs, nil
}

// plainDiff are the options of every diff. Git computes it alone, without external programs, and with the same result
// on every host.
var plainDiff = []string{
	"-r", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--ignore-submodules=dirty",
}

// Patch writes the difference between two revisions in the format of "git apply", binary files included. The error is
// ErrTooLarge as soon as the patch has more than max bytes.
func (r Repo) Patch(ctx context.Context, w io.Writer, from, to string, max int64) error {
	args := append([]string{"diff-tree", "--patch", "--binary", "--full-index"}, plainDiff...)
	_, err := r.run(ctx, call{args: append(args, from, to), out: w, max: max, foreign: true})
	return err
}

// Stat is the size of a difference. A binary file counts as one file without lines.
type Stat struct{ Files, Additions, Deletions int }

// DiffStat returns the size of the difference between two revisions.
func (r Repo) DiffStat(ctx context.Context, from, to string) (Stat, error) {
	got, err := r.run(ctx, call{args: append(append([]string{"diff-tree", "--numstat", "-z"}, plainDiff...), from, to), foreign: true})
	if err != nil {
		return Stat{}, err
	}
	return parseNumstat(split(got.out))
}

// parseNumstat parses "<added>\t<deleted>\t<path>". A renamed file has an empty path, and two more entries with its
// paths follow.
func parseNumstat(entries []string) (Stat, error) {
	var s Stat
	for len(entries) > 0 {
		fields := strings.SplitN(entries[0], "\t", 3)
		if len(fields) != 3 {
			return Stat{}, fmt.Errorf("git diff-tree: unexpected output %q", entries[0])
		}
		entries = entries[1:]
		if fields[2] == "" && len(entries) >= 2 {
			entries = entries[2:]
		}
		s.Files++
		added, err1 := strconv.Atoi(fields[0])
		deleted, err2 := strconv.Atoi(fields[1])
		if errors.Join(err1, err2) == nil { // for a binary file both are "-"
			s.Additions += added
			s.Deletions += deleted
		}
	}
	return s, nil
}
