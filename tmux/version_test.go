package tmux

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestVersionsBefore33AreTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"2.9": true, "3.0a": true, "3.2": true, "3.2a": true, "3.3": false, "3.3a": false, "3.5a": false, "4.0": false, "next-3.2": true, "next-3.6": false, "master": false, "openbsd-7.4": false,
	} {
		if got := TooOld(version); got != old {
			t.Errorf("%s is too old: %v, want %v", version, got, old)
		}
	}
}

func TestEveryTextNamesTheSameOldestTmux(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("tmux`?[ (]+([0-9]+\\.[0-9]+) or newer")
	for _, file := range []string{"README.md", "docs/operations.md", "scripts/install.sh"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s does not say which tmux is needed", file)
		}
		for _, f := range found {
			if string(f[1]) != MinVersion {
				t.Errorf("%s says %q, want %s", file, f[0], MinVersion)
			}
		}
	}
}
