package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// handOverLimit is how long the two connections of an uplink may take to accept the few bytes that come before it is relayed.
const handOverLimit = 10 * time.Second

// errRelayed says that the answer is an uplink, which the relay has.
var errRelayed = errors.New("the uplink is relayed")

// opensUplink says whether a request asks for the socket of a worker.
func (f *forwarder) opensUplink(r *http.Request) bool {
	return r.URL.Path == f.m.UplinkPath && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// upgrader sends requests for uplinks. In place of http.Transport it gives the connection away with the answer, without goroutines or buffers that belong to it.
type upgrader struct{ dialer *net.Dialer }

// RoundTrip sends a request on a connection of its own. The body of an answer that switches protocols is a *leaderSide.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	conn, err := u.dialer.DialContext(r.Context(), "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(r.Context(), func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	reader := bufio.NewReader(conn)
	var resp *http.Response
	if err = r.Write(conn); err == nil {
		resp, err = http.ReadResponse(reader, r)
	}
	if !stop() && err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &leaderSide{Reader: reader, conn: conn, ahead: reader}
		return resp, nil
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{resp.Body, conn}
	return resp, nil
}

// leaderSide is the connection to the leader of an uplink that it has accepted.
type leaderSide struct {
	io.Reader
	conn   net.Conn // nil: it was taken
	ahead  *bufio.Reader
	leader *term
}

// take gives the connection, and what was read from it beyond the answer.
func (s *leaderSide) take() (net.Conn, []byte, error) {
	conn := s.conn
	s.conn = nil
	ahead, err := s.ahead.Peek(s.ahead.Buffered())
	return conn, ahead, err
}

// Close ends the connection unless it was taken.
func (s *leaderSide) Close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// relay takes the worker's connection from the HTTP server and has both sides relayed. It returns errRelayed then, and the request is over: nothing of it is kept.
func (f *forwarder) relay(w http.ResponseWriter, resp *http.Response, side *leaderSide) error {
	if !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
		return fmt.Errorf("the leader switched to protocol %q", resp.Header.Get("Upgrade"))
	}
	worker, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the worker's connection: %w", err)
	}
	leader, toWorker, aheadErr := side.take()
	toLeader, bufferErr := buffered.Reader.Peek(buffered.Reader.Buffered())
	head, answer := *resp, bytes.Buffer{}
	head.Body = nil
	err = errors.Join(aheadErr, bufferErr, head.Write(&answer))
	answer.Write(toWorker)
	link := &uplink{worker: worker, leader: leader}
	link.frames.pass(toWorker)
	err = errors.Join(err, send(worker, answer.Bytes()), send(leader, toLeader))
	if err != nil {
		link.close()
		return errRelayed // the worker sees its connection end
	}
	side.leader.relay.add(link)
	return errRelayed
}

// send writes what came before the relay.
func send(conn net.Conn, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(handOverLimit)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}
