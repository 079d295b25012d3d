package inotifytest

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience bounds the wait for the next event.
const patience = 25 * time.Second

// Event is one operation in a watched folder.
type Event struct {
	Dir  string
	Name string // the file in the folder; "" for the folder itself
}

// Watch watches each folder for the operations in its mask (unix.IN_…). It returns a function that waits for the next
// event.
func Watch(t *testing.T, masks map[string]uint32) (next func() Event) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = watch.Close() })
	dirs := map[int]string{}
	for dir, mask := range masks {
		id, err := unix.InotifyAddWatch(fd, dir, mask|unix.IN_ONLYDIR)
		if err != nil {
			t.Fatal(err)
		}
		dirs[id] = dir
	}
	var events []Event
	return func() Event {
		t.Helper()
		for len(events) == 0 {
			events = read(t, watch, dirs)
		}
		event := events[0]
		events = events[1:]
		return event
	}
}

// read returns the events that the kernel has queued. It waits until there is at least one.
func read(t *testing.T, watch *os.File, dirs map[int]string) (events []Event) {
	t.Helper()
	if err := watch.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := watch.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	for rest := buffer[:n]; len(rest) > 0; {
		event := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
		end := unix.SizeofInotifyEvent + int(event.Len)
		events = append(events, Event{Dir: dirs[int(event.Wd)], Name: unix.ByteSliceToString(rest[unix.SizeofInotifyEvent:end])})
		rest = rest[end:]
	}
	return events
}
