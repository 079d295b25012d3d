package cluster

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions of this file are system calls on non-blocking descriptors without the hand-over to Go's scheduler. They
// never block, and the hand-over of each call costs more than the call: it wakes the scheduler's monitor thread.

// readNow reads what has arrived, or returns EAGAIN. b must not be empty.
func readNow(fd int32, b []byte) (int, error) {
	return transfer(unix.SYS_READ, fd, b)
}

// writeNow writes what the socket accepts, or returns EAGAIN. b must not be empty.
func writeNow(fd int32, b []byte) (int, error) {
	return transfer(unix.SYS_WRITE, fd, b)
}

func transfer(call uintptr, fd int32, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// pollNow returns the events of an epoll set that are ready. It does not wait.
func pollNow(set uintptr, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, set, uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
