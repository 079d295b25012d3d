package worker

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Whatever a host has kept of runs that are over, each pass costs what runs there now.
func TestAPassListsNoFolderOfEndedRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.Reconcile = 20 * time.Millisecond
	l.start()
	l.begin("sleep 600")
	over := l.begin("exit 0")
	l.cleared(over, 1)

	runs := filepath.Join(string(l.dir), "runs")
	next := watchLists(t, l.runtime, runs, filepath.Join(runs, "done"))
	for range 5 { // each pass lists the sockets
		if dir := next(); dir != l.runtime {
			t.Fatalf("a pass listed %s", dir)
		}
	}
}

// watchLists says which of some folders is listed next.
func watchLists(t *testing.T, dirs ...string) (next func() string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = watch.Close() })
	if err := watch.SetReadDeadline(time.Now().Add(25 * time.Second)); err != nil {
		t.Fatal(err)
	}
	names := map[int]string{}
	for _, dir := range dirs {
		id, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ONLYDIR)
		if err != nil {
			t.Fatal(err)
		}
		names[id] = dir
	}
	var listed []string
	return func() string {
		for len(listed) == 0 {
			buffer := make([]byte, 4096)
			n, err := watch.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			for rest := buffer[:n]; len(rest) > 0; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
				if event.Len == 0 { // the folder itself, nothing in it
					listed = append(listed, names[int(event.Wd)])
				}
				rest = rest[unix.SizeofInotifyEvent+int(event.Len):]
			}
		}
		dir := listed[0]
		listed = listed[1:]
		return dir
	}
}
