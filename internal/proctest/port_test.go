package proctest_test

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"svc/internal/proctest"
)

func TestAPortIsOneTestsAlone(t *testing.T) {
	t.Parallel()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(proctest.FreePort(t)))
	for range 2 { // a server listens, ends and listens again
		server, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		near, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		far, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = far.Close(), near.Close(), server.Close() // the server's end first, so that its port is in TIME_WAIT
	}
	alone := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		return socket.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 0)
		})
	}}
	if other, err := alone.Listen(t.Context(), "tcp", address); err == nil {
		_ = other.Close()
		t.Error("another test could take the port while no server listens on it")
	}
}
