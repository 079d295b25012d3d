package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of git.
type Version struct{ Major, Minor int }

// MinVersion is the oldest git that this package supports.
var MinVersion = Version{2, 38}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Less reports whether v is older than the other version.
func (v Version) Less(than Version) bool {
	return v.Major < than.Major || v.Major == than.Major && v.Minor < than.Minor
}

// Version returns the release of the git binary. The error is ErrNotInstalled or ErrTooOld if it cannot be used; in
// the second case the version is returned too.
func (p Program) Version(ctx context.Context) (Version, error) {
	got, err := p.exec(ctx, call{args: []string{"version"}})
	if err != nil {
		return Version{}, err
	}
	v, err := parseVersion(string(got.out))
	if err != nil {
		return Version{}, err
	}
	if v.Less(MinVersion) {
		return v, fmt.Errorf("%w: %s is installed, %s or newer is needed", ErrTooOld, v, MinVersion)
	}
	return v, nil
}

// parseVersion parses "git version 2.39.5". A distributor may have appended more.
func parseVersion(said string) (Version, error) {
	words := strings.Fields(said)
	if len(words) < 3 || words[0] != "git" || words[1] != "version" {
		return Version{}, fmt.Errorf("git version: unexpected output %q", said)
	}
	major, rest, _ := strings.Cut(words[2], ".")
	minor, _, _ := strings.Cut(rest, ".")
	var v Version
	var err error
	if v.Major, err = strconv.Atoi(major); err == nil {
		v.Minor, err = strconv.Atoi(minor)
	}
	if err != nil {
		return Version{}, fmt.Errorf("git version: unexpected output %q", said)
	}
	return v, nil
}
