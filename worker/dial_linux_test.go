package worker

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sys/unix"

	"svc/config"
)

// TestAConnectionEndsWithTheMachineAtItsOtherEnd checks what the kernel was told about the worker's connections. That it
// acts on it shows only between two machines.
func TestAConnectionEndsWithTheMachineAtItsOtherEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := newHTTP(config.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Transport.(*http.Transport).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]struct{ level, option, want int }{
		"the limit of unacknowledged data": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds())},
		"that a silent peer is asked":      {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"the silence before it is asked":   {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(askSilent.Idle.Seconds())},
		"the time between two questions":   {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(askSilent.Interval.Seconds())},
		"how many it may leave unanswered": {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, askSilent.Count},
	} {
		var got int
		var getErr error
		if err := raw.Control(func(fd uintptr) { got, getErr = unix.GetsockoptInt(int(fd), option.level, option.option) }); err != nil || getErr != nil {
			t.Fatal(err, getErr)
		}
		if got != option.want {
			t.Errorf("%s is %d, want %d", name, got, option.want)
		}
	}
	if whole := askSilent.Idle + askSilent.Interval*3; whole != deadAfter {
		t.Errorf("a silent machine is given up after %v, one with unacknowledged data after %v", whole, deadAfter)
	}
}
