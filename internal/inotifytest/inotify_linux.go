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

// Event is one thing that was done in a folder that is watched.
type Event struct {
	Dir  string
	Name string // of the file in it; "" for the folder itself
}

// Watch watches folders for what their masks ask for (unix.IN_…), and returns the function that waits for the next event.
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

// read takes what the kernel has to tell, and waits for it when that is nothing.
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
