package atomicfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DiskFree returns how many bytes this user can still write to the file system of path.
func DiskFree(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("free disk space of %s: %w", path, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}
