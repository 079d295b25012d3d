package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestADataDirWithoutWritePermissionIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	var err error
	asNobody(t, func() { _, err = EnsureDataDir(dir) })
	if err == nil || !strings.Contains(err.Error(), "may not write") {
		t.Errorf("the error is %v", err)
	}
}

// asNobody runs a function without root's permission to write everywhere. Only its thread lacks the permission,
// and that thread ends with the function.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // it is never unlocked, so that no other goroutine runs on this thread
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(nobody); err != nil {
				t.Error(err)
			}
		}
		do()
	}()
	<-done
}
