package cluster

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	loopBytes  = 64 << 10 // bytes read at a time, and so the most that is pending in each direction of an uplink
	loopEvents = 128      // events read at a time
)

// relayLoop relays between sockets in one goroutine, with one buffer. An idle uplink costs two descriptors and a few
// hundred bytes. The sockets are in a level-triggered epoll set: it reports a socket as long as the socket can be read
// (EPOLLIN) or written (EPOLLOUT). Go's network poller watches the descriptor of the set, so that no thread blocks.
//
// Data that a socket does not accept at once is stored as pending in its end. While data is pending in one end, the
// other end is not read. The loop never waits for a single socket, so a slow worker does not delay the others.
type relayLoop struct {
	set  *os.File
	wait syscall.RawConn // set as a raw connection, which can wait until an event is ready
	buf  []byte
	idle *idleEnds
	rule idleRule

	now  time.Time // of the events that are handled
	many bool      // there are so many uplinks that connections can be idle

	mu   sync.Mutex          // guards the fields below; the ends themselves belong to the goroutine of run
	ends map[int32]*relayEnd // by descriptor
	over bool                // the loop has ended and accepts no uplink
}

// relayEnd is one connection of an uplink. Errors of writes are ignored, because the next read of the same socket
// reports the end of the connection.
type relayEnd struct {
	fd      int32
	watched bool      // the socket is in an epoll set
	idle    bool      // that set is the one of idleEnds
	events  uint32    // that the set reports
	sent    time.Time // when the socket was last read
	broken  bool      // the set reports errors of the socket, which cannot be masked
	done    bool      // no more data is forwarded from the socket: the connection or the term has ended
	pending []byte    // data to be written to the socket
	other   *relayEnd
	link    *relayedLink
}

// relayedLink is an uplink in the loop: both ends and what they share.
type relayedLink struct {
	worker, leader relayEnd
	frames         frames // of the data that the leader has sent
	released       func() // called when the worker's connection is closed
	closed         bool
	over           *time.Timer // limits how long the end of the link is awaited after all data was written; nil: it was not
}

func newRelayLoop(idle idleRule) (*relayLoop, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(set, true); err != nil { // Go's poller watches only non-blocking files
		_ = unix.Close(set)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l := &relayLoop{set: os.NewFile(uintptr(set), "epoll"), buf: make([]byte, loopBytes), rule: idle, ends: map[int32]*relayEnd{}}
	l.wait, err = l.set.SyscallConn()
	if err == nil {
		err = l.set.SetDeadline(time.Time{}) // fails if Go's poller does not watch the set
	}
	if err == nil {
		l.idle, err = newIdleEnds(set)
	}
	if err != nil {
		return nil, errors.Join(err, l.set.Close())
	}
	return l, nil
}

// add takes over an uplink. It returns false if one of the connections is not a plain TCP socket, such as one with TLS,
// if the loop has ended, or after an error. The caller can still use the uplink then.
func (l *relayLoop) add(u *uplink) bool {
	link := &relayedLink{frames: u.frames, released: func() {}}
	worker := u.worker
	if c, ok := worker.(*countedConn); ok {
		worker, link.released = c.Conn, c.left
	}
	fds, ok := descriptors(u.stuck, worker, u.leader)
	if !ok {
		return false
	}
	now := time.Now()
	link.worker = relayEnd{fd: fds[0], watched: true, events: unix.EPOLLIN, sent: now, other: &link.leader, link: link}
	link.leader = relayEnd{fd: fds[1], watched: true, events: unix.EPOLLIN, sent: now, other: &link.worker, link: link}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := os.ErrClosed
	if !l.over {
		l.ends[fds[0]], l.ends[fds[1]] = &link.worker, &link.leader
		err = errors.Join(l.control(unix.EPOLL_CTL_ADD, &link.worker), l.control(unix.EPOLL_CTL_ADD, &link.leader))
	}
	if err != nil {
		for _, e := range []*relayEnd{&link.worker, &link.leader} {
			delete(l.ends, e.fd)
			_ = l.control(unix.EPOLL_CTL_DEL, e) // needed because the connection has another descriptor: Close alone does not remove it
			_ = unix.Close(int(e.fd))
		}
		return false
	}
	_, _ = worker.Close(), u.leader.Close() // closes only these descriptors; the new ones keep the connections open
	return true
}

// descriptors returns a new descriptor for each connection. The kernel then ends a connection whose peer neither
// acknowledges nor reads any of the data that waits for it, for the time stuck. ok is false if a connection is not a plain
// TCP socket, or after an error.
func descriptors(stuck time.Duration, conns ...net.Conn) (fds []int32, ok bool) {
	defer func() {
		for i := 0; !ok && i < len(fds); i++ {
			_ = unix.Close(int(fds[i]))
		}
	}()
	for _, c := range conns {
		tcp, plain := c.(*net.TCPConn)
		if !plain {
			return fds, false
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			return fds, false
		}
		fd, dupErr := -1, error(nil)
		err = raw.Control(func(from uintptr) {
			fd, dupErr = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0)
			_ = unix.SetsockoptInt(int(from), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(stuck.Milliseconds()))
		})
		if err != nil || dupErr != nil {
			return fds, false
		}
		fds = append(fds, int32(fd))
	}
	return fds, true
}

// end makes the loop end all uplinks. It may be called while the loop runs, but only once.
func (l *relayLoop) end() { _ = l.set.SetReadDeadline(time.Unix(1, 0)) }

// run relays until end was called and all connections are closed.
func (l *relayLoop) run() {
	events, found, n := make([]unix.EpollEvent, loopEvents), make([]*relayEnd, loopEvents), 0
	ready := func(set uintptr) bool {
		var err error
		n, err = pollNow(set, events)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	}
	for l.wait.Read(ready) == nil {
		l.handleAll(events, n, found)
	}
	l.finishAll()
	_ = l.set.SetReadDeadline(time.Now().Add(lastWordLimit))
	for l.left() > 0 && l.wait.Read(ready) == nil {
		l.handleAll(events, n, found)
	}
	l.closeAll()
}

// handleAll handles the first n events and, when it is time, those of idle connections, which it stores in events too.
func (l *relayLoop) handleAll(events []unix.EpollEvent, n int, found []*relayEnd) {
	l.handle(events[:max(n, 0)], found)
	if l.idle.due(events[:max(n, 0)]) {
		l.handle(events[:l.idle.poll(events)], found)
	}
}

// handle reads and writes the sockets of the events. Only this goroutine closes the descriptors of uplinks in the loop,
// and handle looks up the ends of all events before it closes any. Therefore an event of a closed uplink is never
// applied to a new one whose descriptor has the same number.
func (l *relayLoop) handle(events []unix.EpollEvent, found []*relayEnd) {
	l.now = time.Now()
	l.mu.Lock()
	l.many = len(l.ends) > 2*l.rule.above
	for i, event := range events {
		found[i] = l.ends[event.Fd]
	}
	l.mu.Unlock()
	for i, event := range events {
		e := found[i]
		found[i] = nil
		if e == nil || e.link.closed {
			continue
		}
		e.broken = event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0
		if len(e.pending) > 0 && (e.broken || event.Events&unix.EPOLLOUT != 0) {
			l.flush(e)
		}
		switch {
		case e.link.closed || e.done:
		case !e.broken && event.Events&unix.EPOLLIN == 0:
		case e.link.over != nil:
			l.discard(e)
		case e.other.done: // data for it is pending
		case len(e.other.pending) == 0:
			l.receive(e)
		case e.broken: // it is read when the pending data is written; until then the set would report it repeatedly
			l.watch(e)
		}
	}
}

// receive reads once from an end and writes the data to the other one.
func (l *relayLoop) receive(e *relayEnd) {
	n, err := readNow(e.fd, l.buf)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil || n == 0:
		l.finish(e)
		return
	}
	l.noteBusy(e)
	if e == &e.link.leader {
		e.link.frames.pass(l.buf[:n])
	}
	if rest := l.write(e.other, l.buf[:n]); len(rest) > 0 {
		e.other.pending = bytes.Clone(rest)
		l.watch(e)
		l.watch(e.other)
	}
}

// finish is called when no more data is read from an end. Data that was already read is still written to the other end.
// If the leader sent no close frame, the worker gets one.
func (l *relayLoop) finish(e *relayEnd) {
	e.done = true
	if e == &e.link.leader {
		e.other.pending = append(e.other.pending, e.link.frames.closing()...)
	}
	l.watch(e)
	l.flush(e.other)
}

// flush writes the pending data of an end. If all is written and the other end is done, nothing more is written to the
// socket. Then the uplink is closed when the peer closes its side; see uplink.
func (l *relayLoop) flush(e *relayEnd) {
	if e.pending = l.write(e, e.pending); len(e.pending) == 0 {
		e.pending = nil
		switch {
		case !e.other.done:
		case e.done:
			l.close(e.link)
			return
		case e.link.over == nil:
			_ = unix.Shutdown(int(e.fd), unix.SHUT_WR)
			e.link.over = time.AfterFunc(lastWordLimit, func() { l.cut(e) })
		}
	}
	l.watch(e)
	l.watch(e.other)
}

// discard reads from the end of an uplink that is over, and closes the uplink when the peer has closed its side.
func (l *relayLoop) discard(e *relayEnd) {
	switch n, err := readNow(e.fd, l.buf); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	case err != nil || n == 0:
		l.close(e.link)
	}
}

// cut makes the loop close an uplink that is over. It may be called by any goroutine.
func (l *relayLoop) cut(e *relayEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends[e.fd] == e {
		_ = unix.Shutdown(int(e.fd), unix.SHUT_RDWR)
	}
}

// write writes what the socket accepts and returns the rest. After an error the socket is shut down, and the uplink ends
// with the next event: it must not continue without the data that is discarded.
func (l *relayLoop) write(e *relayEnd, b []byte) (rest []byte) {
	for len(b) > 0 {
		n, err := writeNow(e.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return b
		case err != nil:
			_ = unix.Shutdown(int(e.fd), unix.SHUT_RDWR)
			return nil
		default:
			b = b[n:]
		}
	}
	return nil
}

// watch updates which events the epoll set reports for an end. An end with errors that is neither read nor written at
// the moment is removed, because the set would report its errors repeatedly.
func (l *relayLoop) watch(e *relayEnd) {
	var wanted uint32
	if e.link.over != nil && !e.done || !e.done && !e.other.done && len(e.other.pending) == 0 {
		wanted |= unix.EPOLLIN
	}
	if len(e.pending) > 0 {
		wanted |= unix.EPOLLOUT
	}
	if wanted&unix.EPOLLOUT != 0 {
		l.setIdle(e, false) // more is written as soon as the socket accepts it
	}
	switch {
	case wanted != 0 || !e.broken && !e.done && !e.other.done:
		op := unix.EPOLL_CTL_MOD
		if !e.watched {
			op = unix.EPOLL_CTL_ADD
		}
		e.watched, e.events = true, wanted
		_ = l.control(op, e) // no error is expected: the socket is in the set, or was
	case e.watched:
		_ = l.control(unix.EPOLL_CTL_DEL, e)
		e.watched = false
	}
}

// control changes the set that an end is in.
func (l *relayLoop) control(op int, e *relayEnd) error {
	event := unix.EpollEvent{Events: e.events, Fd: e.fd}
	if e.idle {
		return unix.EpollCtl(l.idle.set, op, int(e.fd), &event)
	}
	var err error
	controlErr := l.wait.Control(func(set uintptr) { err = unix.EpollCtl(int(set), op, int(e.fd), &event) })
	return errors.Join(controlErr, err)
}

// close closes both connections of an uplink.
func (l *relayLoop) close(link *relayedLink) {
	link.closed = true
	l.idle.count(&link.worker, -1)
	l.idle.count(&link.leader, -1)
	if link.over != nil {
		link.over.Stop()
	}
	l.mu.Lock()
	delete(l.ends, link.worker.fd)
	delete(l.ends, link.leader.fd)
	l.mu.Unlock()
	_, _ = unix.Close(int(link.worker.fd)), unix.Close(int(link.leader.fd)) // this also removes them from the set
	link.released()
}

// links returns the open uplinks.
func (l *relayLoop) links() (all []*relayedLink) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ends {
		if e == &e.link.worker {
			all = append(all, e.link)
		}
	}
	return all
}

func (l *relayLoop) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ends)
}

// finishAll finishes the leader's end of all uplinks.
func (l *relayLoop) finishAll() {
	for _, link := range l.links() {
		if !link.leader.done {
			l.finish(&link.leader)
		}
	}
}

// closeAll closes all uplinks and the epoll set. After that add accepts no uplink.
func (l *relayLoop) closeAll() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	for _, link := range l.links() {
		l.close(link)
	}
	_ = l.set.Close()
	l.idle.close()
}
