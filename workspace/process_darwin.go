package workspace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// processInside tells whether a process has its working directory in a folder, by lsof, which is part of macOS.
func processInside(ctx context.Context, dir string) (bool, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	dir = filepath.Join(real, filepath.Base(dir))
	// It ends with 1 when it could not look at one of them; what it printed is true all the same.
	out, err := exec.CommandContext(ctx, "/usr/sbin/lsof", "-w", "-d", "cwd", "-Fn").Output()
	if len(out) == 0 {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		at, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n")
		if ok && (at == dir || strings.HasPrefix(at, dir+"/")) {
			return true, nil
		}
	}
	return false, nil
}
