package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processInside reports whether a process has its working directory in a folder. Processes that the system does not
// allow this user to inspect belong to other users, who cannot enter the folder.
func processInside(ctx context.Context, dir string) (bool, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	dir = filepath.Join(real, filepath.Base(dir))
	folders, err := workingDirectories(ctx)
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	for _, at := range folders {
		if at == dir || strings.HasPrefix(at, dir+"/") || at == dir+" (deleted)" { // the form that Linux shows
			return true, nil
		}
	}
	return false, nil
}
