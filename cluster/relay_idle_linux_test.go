package cluster

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"svc/internal/waittest"
)

// loopByHand is a relayLoop whose events a test handles.
type loopByHand struct {
	*relayLoop
	t *testing.T
}

// pass sends data through an uplink and handles events until it has arrived.
func (l loopByHand) pass(from, to *net.TCPConn) {
	l.t.Helper()
	sent := message(100)
	write(l.t, from, sent)
	got := make([]byte, len(sent))
	arrived := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(to, got)
		arrived <- err
	}()
	events, found, n := make([]unix.EpollEvent, loopEvents), make([]*relayEnd, loopEvents), 0
	waittest.Eventually(l.t, "the data arrives", func() bool {
		if err := l.wait.Control(func(set uintptr) { n, _ = pollNow(set, events) }); err != nil {
			l.t.Fatal(err)
		}
		l.handleAll(events, n, found)
		return len(arrived) > 0
	})
	if err := <-arrived; err != nil || !bytes.Equal(got, sent) {
		l.t.Fatalf("read %q: %v", got, err)
	}
}

func TestAConnectionIsIdleBetweenItsHeartbeats(t *testing.T) {
	t.Parallel()
	loop, err := newRelayLoop(idleRule{above: 1, busyFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loop.closeAll)
	l := loopByHand{loop, t}
	connect := func() (worker, leader *net.TCPConn, end *relayEnd) {
		worker, near := sockets(t)
		leader, up := sockets(t)
		before := l.links()
		if !l.add(&uplink{worker: near, leader: up, stuck: time.Minute}) {
			t.Fatal("the loop does not take an uplink")
		}
		for _, link := range l.links() {
			if len(before) == 0 || link != before[0] {
				end = &link.worker
			}
		}
		return worker, leader, end
	}
	want := func(when string, end *relayEnd, idle bool, n int) {
		t.Helper()
		if end.idle != idle || l.idle.n != n {
			t.Errorf("%s: idle %v, %d idle connections in all, want %v and %d", when, end.idle, l.idle.n, idle, n)
		}
	}
	later := func(end *relayEnd) { end.sent = end.sent.Add(-2 * time.Minute) }

	worker, leader, end := connect()
	later(end)
	l.pass(worker, leader)
	want("alone", end, false, 0)
	_, _, _ = connect()
	l.pass(worker, leader)
	want("soon after", end, false, 0)
	later(end)
	l.pass(worker, leader)
	want("after a pause", end, true, 1)
	later(end)
	l.pass(worker, leader)
	want("after the next pause", end, true, 1)
	l.pass(worker, leader)
	want("soon after that", end, false, 0)
	later(end)
	l.pass(worker, leader)
	want("after a pause again", end, true, 1)
	l.close(end.link)
	if l.idle.n != 0 {
		t.Errorf("%d idle connections after the end of the only one", l.idle.n)
	}
	var timer unix.ItimerSpec
	if err := unix.TimerfdGettime(int(l.idle.timer), &timer); err != nil || timer.Value != (unix.Timespec{}) {
		t.Errorf("the timer runs without idle connections: %v, %v", timer, err)
	}
}
