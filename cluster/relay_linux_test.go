package cluster

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// When the leader's connection breaks while the worker reads slowly, the bytes that have already arrived must still be
// sent to the worker.
func TestWhatArrivedBeforeTheLeaderBrokeOffReachesASlowWorker(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		worker, leader := b.uplink(t)
		taken := fill(t, leader)
		arrived := taken[:len(taken)-unacknowledged(t, leader)]
		if err := errors.Join(leader.SetLinger(0), leader.Close()); err != nil { // resets the connection
			t.Fatal(err)
		}
		got, err := io.ReadAll(worker)
		if err != nil || !bytes.HasPrefix(got, arrived) {
			t.Errorf("the worker read %d bytes and %v, want at least %d", len(got), err, len(arrived))
		}
	})
}

// unacknowledged returns how many of the bytes that were written to a connection have not arrived yet.
func unacknowledged(t *testing.T, conn *net.TCPConn) (n int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }
	if controlErr := raw.Control(ask); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return n
}
