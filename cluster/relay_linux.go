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
	loopBytes  = 64 << 10 // read at a time, and so what waits at most in each direction of an uplink
	loopEvents = 128      // taken at a time
	// stuckLimit is how long a peer may confirm or read nothing of what waits for it. The system ends its connection then.
	stuckLimit = time.Minute
)

// relayLoop relays between sockets in one goroutine, with one buffer. An idle uplink costs two descriptors and a few hundred bytes. The sockets are in an epoll set,
// level-triggered: it reports a socket as long as it can be read (EPOLLIN) or written (EPOLLOUT). Go's own poller watches the descriptor of the set, so that no thread blocks.
//
// What cannot be written at once is kept in the receiver's end, whose source is not read meanwhile. The loop never waits for one socket: a slow worker does not delay the others.
type relayLoop struct {
	set  *os.File
	wait syscall.RawConn // of set
	buf  []byte

	mu   sync.Mutex // guards the rest; the ends themselves are the goroutine's
	ends map[int32]*relayEnd
	over bool // the set is closed
}

// relayEnd is one side of an uplink. Errors of writes are ignored: after them, a read of the same socket reports the end of the connection.
type relayEnd struct {
	fd      int32
	watched bool   // it is in the set
	done    bool   // nothing more is read from it: it has ended, or the term has
	pending []byte // to be written to it
	other   *relayEnd
	link    *relayedLink
}

// relayedLink is what both ends have in common.
type relayedLink struct {
	worker, leader relayEnd
	frames         frames // that the leader has sent
	released       func() // the worker's connection is closed
	closed         bool
}

func newRelayLoop() (*relayLoop, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(set, true); err != nil { // else os.File would not have it watched
		_ = unix.Close(set)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l := &relayLoop{set: os.NewFile(uintptr(set), "epoll"), buf: make([]byte, loopBytes), ends: map[int32]*relayEnd{}}
	l.wait, err = l.set.SyscallConn()
	if err == nil {
		err = l.set.SetDeadline(time.Time{}) // it fails where the set is not watched
	}
	if err != nil {
		return nil, errors.Join(err, l.set.Close())
	}
	return l, nil
}

// add takes an uplink over. It is false, and nothing has changed, where one of its connections is more than a socket, such as one with TLS, or the loop is over.
func (l *relayLoop) add(u *uplink) bool {
	link := &relayedLink{frames: u.frames, released: func() {}}
	worker := u.worker
	if c, ok := worker.(*countedConn); ok {
		worker, link.released = c.Conn, c.left
	}
	fds, ok := descriptors(worker, u.leader)
	if !ok {
		return false
	}
	link.worker = relayEnd{fd: fds[0], watched: true, other: &link.leader, link: link}
	link.leader = relayEnd{fd: fds[1], watched: true, other: &link.worker, link: link}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := os.ErrClosed
	if !l.over {
		l.ends[fds[0]], l.ends[fds[1]] = &link.worker, &link.leader
		err = errors.Join(l.control(unix.EPOLL_CTL_ADD, fds[0], unix.EPOLLIN), l.control(unix.EPOLL_CTL_ADD, fds[1], unix.EPOLLIN))
	}
	if err != nil {
		for _, fd := range fds {
			delete(l.ends, fd)
			_ = l.control(unix.EPOLL_CTL_DEL, fd, 0) // it would stay as long as the connection has another descriptor
			_ = unix.Close(int(fd))
		}
		return false
	}
	_, _ = worker.Close(), u.leader.Close() // of these descriptors alone: the connections stay open
	return true
}

// descriptors gives new descriptors of connections that are plain sockets.
func descriptors(conns ...net.Conn) (fds []int32, ok bool) {
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
			_ = unix.SetsockoptInt(int(from), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(stuckLimit.Milliseconds()))
		})
		if err != nil || dupErr != nil {
			return fds, false
		}
		fds = append(fds, int32(fd))
	}
	return fds, true
}

// end has the loop end all uplinks. It may be called while the loop runs, once.
func (l *relayLoop) end() { _ = l.set.SetReadDeadline(time.Unix(1, 0)) }

// run relays until the loop is ended and everything is closed.
func (l *relayLoop) run() {
	events, found, n := make([]unix.EpollEvent, loopEvents), make([]*relayEnd, loopEvents), 0
	ready := func(set uintptr) bool {
		var err error
		n, err = unix.EpollWait(int(set), events, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	}
	for l.wait.Read(ready) == nil {
		l.handle(events[:max(n, 0)], found)
	}
	l.finishAll()
	_ = l.set.SetReadDeadline(time.Now().Add(lastWordLimit))
	for l.left() > 0 && l.wait.Read(ready) == nil {
		l.handle(events[:max(n, 0)], found)
	}
	l.closeAll()
}

// handle reads and writes what the events allow. Only this goroutine closes descriptors, and it finds the ends of all events before it closes any: an event of a closed
// descriptor is never taken for one of a new connection with the same number.
func (l *relayLoop) handle(events []unix.EpollEvent, found []*relayEnd) {
	l.mu.Lock()
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
		broken := event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0
		if len(e.pending) > 0 && (broken || event.Events&unix.EPOLLOUT != 0) {
			l.flush(e)
		}
		switch {
		case e.link.closed || e.done || e.other.done:
		case !broken && event.Events&unix.EPOLLIN == 0:
		case len(e.other.pending) == 0:
			l.receive(e)
		case broken: // it is not read now, and the set would report it again and again
			l.finish(e)
		}
	}
}

// receive reads once, and passes on what came.
func (l *relayLoop) receive(e *relayEnd) {
	n, err := unix.Read(int(e.fd), l.buf)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil || n == 0:
		l.finish(e)
		return
	}
	if e == &e.link.leader {
		e.link.frames.pass(l.buf[:n])
	}
	if rest := l.write(e.other, l.buf[:n]); len(rest) > 0 {
		e.other.pending = bytes.Clone(rest)
		l.watch(e)
		l.watch(e.other)
	}
}

// finish is called when nothing more comes from an end. What came before is still passed on.
func (l *relayLoop) finish(e *relayEnd) {
	e.done = true
	if e == &e.link.leader {
		e.other.pending = append(e.other.pending, e.link.frames.closing()...)
	}
	l.watch(e)
	l.flush(e.other)
}

// flush writes what waits.
func (l *relayLoop) flush(e *relayEnd) {
	if e.pending = l.write(e, e.pending); len(e.pending) == 0 {
		e.pending = nil
		if e.other.done {
			l.close(e.link)
			return
		}
	}
	l.watch(e)
	l.watch(e.other)
}

// write writes what it can, and gives the rest; of a connection that is over, nothing.
func (l *relayLoop) write(e *relayEnd, b []byte) (rest []byte) {
	for len(b) > 0 {
		n, err := unix.Write(int(e.fd), b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return b
		case err != nil:
			return nil
		default:
			b = b[n:]
		}
	}
	return nil
}

// watch sets what the set reports of an end. One that will not be read again and has nothing to be written is taken out: its errors would be reported again and again.
func (l *relayLoop) watch(e *relayEnd) {
	var wanted uint32
	if !e.done && !e.other.done && len(e.other.pending) == 0 {
		wanted |= unix.EPOLLIN
	}
	if len(e.pending) > 0 {
		wanted |= unix.EPOLLOUT
	}
	switch {
	case wanted != 0 || !e.done && !e.other.done:
		op := unix.EPOLL_CTL_MOD
		if !e.watched {
			op = unix.EPOLL_CTL_ADD
		}
		_ = l.control(op, e.fd, wanted) // it is in the set, or was
		e.watched = true
	case e.watched:
		_ = l.control(unix.EPOLL_CTL_DEL, e.fd, 0)
		e.watched = false
	}
}

func (l *relayLoop) control(op int, fd int32, events uint32) error {
	var err error
	controlErr := l.wait.Control(func(set uintptr) {
		err = unix.EpollCtl(int(set), op, int(fd), &unix.EpollEvent{Events: events, Fd: fd})
	})
	return errors.Join(controlErr, err)
}

// close closes both ends.
func (l *relayLoop) close(link *relayedLink) {
	link.closed = true
	l.mu.Lock()
	delete(l.ends, link.worker.fd)
	delete(l.ends, link.leader.fd)
	l.mu.Unlock()
	_, _ = unix.Close(int(link.worker.fd)), unix.Close(int(link.leader.fd)) // which takes them out of the set
	link.released()
}

// links lists what is open.
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

// finishAll ends the leader's side of all.
func (l *relayLoop) finishAll() {
	for _, link := range l.links() {
		if !link.leader.done {
			l.finish(&link.leader)
		}
	}
}

// closeAll ends the loop.
func (l *relayLoop) closeAll() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	for _, link := range l.links() {
		l.close(link)
	}
	_ = l.set.Close()
}
