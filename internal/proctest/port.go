package proctest

import (
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// FreePort is a loopback port that belongs to the test until it ends: a server of the test may listen on it, end and
// listen again, and the system gives it to nobody else meanwhile.
//
// A socket that is bound and does not listen holds it. It is bound alone, so no two tests have the same port, and
// shares its address only then, so a server that shares it, as every server in Go does, can listen beside it.
func FreePort(tb testing.TB) int {
	tb.Helper()
	syscall.ForkLock.RLock() // no process that is started meanwhile has it, too
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
