package rundir_test

import (
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestASignalIsSyncedWithoutTheLock: a disk that takes its time must not hold back the others. A signal's file is closed right after it was
// synced, and the lock ends when its folder is closed: the kernel tells which came first.
func TestASignalIsSyncedWithoutTheLock(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	put(t, d, progress(a.RunID, "all folders are there"))
	closed := watchCloses(t, a.SessionPath(), d.SpoolPath())
	put(t, d, progress(a.RunID, "needs you"))
	if got := closed(); !slices.Equal(got, []string{"the lock", "the signal"}) {
		t.Errorf("closed in the order %q", got)
	}
}

// watchCloses tells what was closed: the folder that is locked, and files that were written in another one.
func watchCloses(t *testing.T, locked, written string) (closed func() []string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = watch.Close() })
	lock, err := unix.InotifyAddWatch(fd, locked, unix.IN_CLOSE_NOWRITE|unix.IN_ONLYDIR)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(fd, written, unix.IN_CLOSE_WRITE|unix.IN_ONLYDIR); err != nil {
		t.Fatal(err)
	}
	return func() (all []string) {
		t.Helper()
		buffer := make([]byte, 4096)
		n, err := unix.Read(fd, buffer) // all of it happened already
		if err != nil {
			t.Fatal(err)
		}
		for rest := buffer[:n]; len(rest) > 0; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
			switch {
			case int(event.Wd) != lock:
				all = append(all, "the signal")
			case event.Len == 0: // the folder itself, nothing in it
				all = append(all, "the lock")
			}
			rest = rest[unix.SizeofInotifyEvent+int(event.Len):]
		}
		return all
	}
}
