package tmux

import (
	"os"
	"path/filepath"
	"testing"
)

// On a busy machine the server may keep a client's output open for a while after the client has done
// its work and left.
func TestACallThatSucceededIsNotUndoneByWhoKeepsItsOutputOpen(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\nsleep 2 &\nexec tmux \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if version, err := (Server{Bin: bin}).Version(t.Context()); err != nil || version == "" {
		t.Errorf("version %q, %v", version, err)
	}
}
