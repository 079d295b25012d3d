package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processInside tells whether a process has its working directory in a folder. One that the system does not let us look at
// belongs to another user, who has no way in.
func processInside(_ context.Context, dir string) (bool, error) {
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	dir = filepath.Join(real, filepath.Base(dir))
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		return false, fmt.Errorf("look for processes: /proc cannot be read")
	}
	for _, link := range links {
		at, err := os.Readlink(link)
		if err == nil && (at == dir || strings.HasPrefix(at, dir+"/") || at == dir+" (deleted)") {
			return true, nil
		}
	}
	return false, nil
}
