package rundir_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"svc/internal/inotifytest"
)

// TestASignalIsSyncedWithoutTheLock: a slow disk must not block other reporting processes. A signal's file is
// closed right after it was synced, and the lock ends when its folder is closed: the kernel reports which close
// came first.
func TestASignalIsSyncedWithoutTheLock(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	put(t, d, progress(a.RunID, "all folders are there"))
	next := inotifytest.Watch(t, map[string]uint32{a.SessionPath(): unix.IN_CLOSE_NOWRITE, d.SpoolPath(): unix.IN_CLOSE_WRITE})
	put(t, d, progress(a.RunID, "needs you"))
	if first := next(); first.Dir != a.SessionPath() || first.Name != "" {
		t.Errorf("%+v was closed while the lock was held", first)
	}
	if second := next(); second.Dir != d.SpoolPath() {
		t.Errorf("the signal's file was not closed after the lock: %+v", second)
	}
}
