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

// runtimeDirs are the places for the folder of the sessions' sockets, the preferred one first. Their
// paths are short, since a socket's path has little room, and their own for each data directory. The
// last logout of a user removes XDG_RUNTIME_DIR with all that is in it, and only the system makes it
// again: until then new sessions are put into the second place.
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

// ensureRuntimeDir makes the first of the places that can be made, and answers which it is.
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

// ensurePrivate makes a folder for sockets where it is missing, for this user alone.
func ensurePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	return private(dir)
}

// ensureSockets makes sure that sockets can be made. It is called before each use: whatever cleans up
// temporary files may have removed the folder since.
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

// socketOf is where a new session of a run is made.
func (w *Worker) socketOf(runID string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return filepath.Join(w.runtimeDir, runID[:8])
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
