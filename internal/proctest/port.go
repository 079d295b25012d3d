package proctest

import (
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// FreePort returns a loopback port that is reserved for the test until it ends: a server of the test may listen on
// it, end and listen again, and the system gives the port to no other program meanwhile.
//
// A socket that is bound but does not listen reserves the port. It sets SO_REUSEADDR only after the bind. So no two
// tests get the same port, but a server that sets SO_REUSEADDR too, as every Go server does, can listen on it.
func FreePort(tb testing.TB) int {
	tb.Helper()
	syscall.ForkLock.RLock() // so that no process that is started now inherits the socket
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(os.NewSyscallError("socket", err))
	}
	tb.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())}); err != nil {
		tb.Fatal(os.NewSyscallError("bind", err))
	}
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		tb.Fatal(os.NewSyscallError("setsockopt", err))
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		tb.Fatal(os.NewSyscallError("getsockname", err))
	}
	return address.(*unix.SockaddrInet4).Port //nolint:forcetypeassert // it was bound to one
}
