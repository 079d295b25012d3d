package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ensureRuntimeDir makes the folder of the sessions' sockets. Its path is short, since a socket's
// path has little room, and its own for each data directory.
func ensureRuntimeDir(dir, dataDir string) (string, error) {
	if dir == "" {
		sum := sha256.Sum256([]byte(dataDir))
		name := hex.EncodeToString(sum[:4])
		if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && len(base) < 60 && isDir(base) {
			dir = filepath.Join(base, "svc-"+name)
		} else {
			dir = filepath.Join("/tmp", "svc-"+strconv.Itoa(os.Getuid())+"-"+name)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for sockets: %w", err)
	}
	return dir, private(dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// private refuses a folder that another user could have prepared: whoever reaches the sockets
// controls the sessions.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder for sockets: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("the folder for sockets, %s, is not a directory of this user; remove it or set XDG_RUNTIME_DIR", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return errors.Join(errors.New("the folder for sockets is open to others"), err)
		}
	}
	return nil
}
