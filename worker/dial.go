package worker

import (
	"net"
	"time"
)

// dialTimeout limits the wait for a TCP connection to the orchestrator, whose machine may be gone.
const dialTimeout = 10 * time.Second

// deadAfter is how long a machine may acknowledge nothing. One that lost its power or its network ends no connection, and
// with the usual settings the kernel tries for many minutes. A process that hangs is another case: its kernel
// acknowledges for it, and only unanswered heartbeats tell.
const deadAfter = 14 * time.Second

// askSilent makes the kernel ask a peer that sends nothing, so that a connection without data ends after deadAfter too.
var askSilent = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 3 * time.Second, Count: 3}

// newDialer returns a dialer whose connections end when the machine at the other end is gone.
func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: askSilent, Control: limitUnacknowledged}
}
