package proctest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The system takes the near ends of outgoing connections from higher ports, 32768 and up on Linux. A
// server that is down for a while would find its port among them taken when it comes back.
const (
	lowestPort  = 10_000
	highestPort = 32_767
)

// FreePort is a loopback port that nobody listens on now and that no outgoing connection will take.
func FreePort(tb testing.TB) int {
	tb.Helper()
	var err error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1) //nolint:gosec // it need not be secret
		var listener net.Listener
		listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it returns at once
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	tb.Fatal(err)
	return 0
}
