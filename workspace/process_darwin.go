package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// workingDirectories lists the working directories of all processes that may be inspected, with lsof, which is part
// of macOS.
func workingDirectories(ctx context.Context) (folders []string, err error) {
	// lsof exits with 1 if it could not inspect one of them. Its output is valid all the same.
	out, err := exec.CommandContext(ctx, "/usr/sbin/lsof", "-w", "-d", "cwd", "-Fn").Output()
	if len(out) == 0 {
		return nil, fmt.Errorf("lsof printed nothing: %w", cmp.Or(err, errors.ErrUnsupported))
	}
	for line := range strings.Lines(string(out)) {
		if at, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n"); ok {
			folders = append(folders, at)
		}
	}
	return folders, nil
}
