package tmux

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerPID returns the process that listens at the other end.
func peerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var pid int
	var pidErr error
	err = raw.Control(func(fd uintptr) {
		pid, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err != nil {
		return 0, err
	}
	return pid, pidErr
}

// starting always returns false here: the information is not available on this system.
func starting(string) bool { return false }

// listenerPID always returns 0 here: this system has no table of sockets to read. A server without its socket
// file can only be found by a caller that has recorded its process.
func listenerPID(string) (int, error) { return 0, nil }
