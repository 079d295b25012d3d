package cluster

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// idleTick is how often idle connections are looked at.
const idleTick = 20 * time.Millisecond

// idleEnds has the connections that are idle. With thousands of uplinks, heartbeats come at any moment, and to wake up
// for each of them costs several times what it costs to relay it. Therefore the idle connections have an epoll set of
// their own, and the loop handles what has come from all of them with each tick of a timer. So the first data after a
// pause is delayed by a tick. A connection from which more comes is busy, and belongs to the loop's own set.
type idleEnds struct {
	set   int   // the epoll set
	timer int32 // a timer in the loop's own set; it runs while there are idle connections
	n     int   // connections in the set
}

// newIdleEnds adds a timer to a loop's set.
func newIdleEnds(loop int) (*idleEnds, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("timerfd_create", err), unix.Close(set))
	}
	i := &idleEnds{set: set, timer: int32(timer)}
	if err := unix.EpollCtl(loop, unix.EPOLL_CTL_ADD, timer, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: i.timer}); err != nil {
		i.close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return i, nil
}

func (i *idleEnds) close() { _, _ = unix.Close(i.set), unix.Close(int(i.timer)) }

// due reports whether the timer is among the events of the loop's set.
func (i *idleEnds) due(events []unix.EpollEvent) bool {
	for _, event := range events {
		if event.Fd == i.timer {
			var ticks [8]byte
			_, err := readNow(i.timer, ticks[:]) // starts the next tick
			return err == nil
		}
	}
	return false
}

// poll stores the events of idle connections, and returns their number.
func (i *idleEnds) poll(events []unix.EpollEvent) int {
	n, err := pollNow(uintptr(i.set), events)
	if err != nil { // EINTR: they are polled again with the next tick
		return 0
	}
	return n
}

// count adds by to the number of connections if e is idle, and starts or stops the timer.
func (i *idleEnds) count(e *relayEnd, by int) {
	if !e.idle {
		return
	}
	before := i.n
	i.n += by
	if (before == 0) == (i.n == 0) {
		return
	}
	var tick unix.ItimerSpec
	if i.n > 0 {
		tick.Interval = unix.NsecToTimespec(idleTick.Nanoseconds())
		tick.Value = tick.Interval
	}
	_ = unix.TimerfdSettime(int(i.timer), 0, &tick, nil) // no error is expected: the descriptor and the times are valid
}

// noteBusy puts an end from which something has come into the set that it belongs to.
func (l *relayLoop) noteBusy(e *relayEnd) {
	l.setIdle(e, l.many && l.now.Sub(e.sent) > l.rule.busyFor)
	e.sent = l.now
}

// setIdle puts an end into one of the sets.
func (l *relayLoop) setIdle(e *relayEnd, idle bool) {
	if e.idle == idle {
		return
	}
	if e.watched {
		_ = l.control(unix.EPOLL_CTL_DEL, e)
	}
	l.idle.count(e, -1)
	e.idle = idle
	l.idle.count(e, 1)
	if e.watched {
		_ = l.control(unix.EPOLL_CTL_ADD, e)
	}
}
