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

// runtimeDirs returns the candidates for the folder of the sessions' sockets, the preferred one first. Their
// paths are short, since the path of a socket is limited, and each data directory has its own. The system
// removes XDG_RUNTIME_DIR with all its content at the user's last logout, and only the system can make it
// again: until then new sessions use the second candidate.
func runtimeDirs(dir, dataDir string) []string {
	if dir != "" {
		return []string{dir}
	}
	sum := sha256.Sum256([]byte(dataDir))
	name := hex.EncodeToString(sum[:4])
	var dirs []string
	if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && len(base) < 60 && isDir(base) {
		dirs = append(dirs, filepath.Join(base, "svc-"+name))
	}
	return append(dirs, filepath.Join("/tmp", "svc-"+strconv.Itoa(os.Getuid())+"-"+name))
}

// ensureRuntimeDir makes the first candidate that can be made, and returns it.
func ensureRuntimeDir(dirs []string) (string, error) {
	var failed error
	for _, dir := range dirs {
		err := ensurePrivate(dir)
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// ensurePrivate makes a folder for sockets if it is missing, accessible to this user only.
func ensurePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	return private(dir)
}

// ensureSockets makes the folder for sockets. It is called before each use, since a clean-up of temporary files
// may have removed the folder.
func (w *Worker) ensureSockets() error {
	dir, err := ensureRuntimeDir(w.runtimeDirs)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runtimeDir = dir
	return nil
}

// socketOf returns the path of the socket for a new session of a run.
func (w *Worker) socketOf(runID string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return filepath.Join(w.runtimeDir, runID[:8])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// private rejects a folder that another user could have prepared: access to the sockets is control over the
// sessions.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("stat the folder for sockets: %w", err)
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
