package cluster

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc/arrivals"
	"svc/internal/textbuffer"
	"svc/internal/waittest"
)

// uplinks returns a leader's handler that accepts the sockets of workers and sends them to accepted.
func uplinks(t *testing.T, accepted chan<- *websocket.Conn) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
	})
}

// dial connects a worker through a member and returns both ends. They are closed at the end of the test.
func (o *testMember) dial(t *testing.T, accepted <-chan *websocket.Conn) (worker, far *websocket.Conn) {
	t.Helper()
	worker, _, err := websocket.Dial(t.Context(), o.public.URL+"/uplink", nil)
	if err != nil {
		t.Fatal(err)
	}
	far = <-accepted
	t.Cleanup(func() { _, _ = worker.CloseNow(), far.CloseNow() })
	return worker, far
}

// A leader that drains sends a goaway frame to its workers. A follower must forward it, and then end the uplink with a
// close frame.
func TestAWorkerBehindAFollowerIsSentAwayByItsLeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	accepted := make(chan *websocket.Conn, 1)
	b.lead(leader, 1, uplinks(t, accepted))
	worker, far := follower.dial(t, accepted)
	const goaway = `{"type":"goaway","after_ms":1000}`
	if err := far.Write(t.Context(), websocket.MessageText, []byte(goaway)); err != nil {
		t.Fatal(err)
	}
	if _, text, err := worker.Read(t.Context()); err != nil || string(text) != goaway {
		t.Errorf("the worker read %q: %v", text, err)
	}
	leader.turn <- nil // ends its term
	b.set(func(b *board) { b.term.Epoch, b.term.Replica = 2, "" })
	if _, _, err := worker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("then %v, want a close with %d", err, websocket.StatusServiceRestart)
	}
}

// When another member has taken the lead, the old leader may be frozen and send nothing. The follower that forwards the
// uplink must end it.
func TestAWorkerBehindAFollowerComesBackWhenTheTermEnds(t *testing.T) {
	t.Parallel()
	b := &board{}
	first, second, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b"), newTestMember(t, b, "c")
	before, after := make(chan *websocket.Conn, 1), make(chan *websocket.Conn, 1)
	b.lead(first, 1, uplinks(t, before))
	worker, _ := follower.dial(t, before)
	b.lead(second, 2, uplinks(t, after))
	if _, _, err := worker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the connection ended with %v, want a close with %d", err, websocket.StatusServiceRestart)
	}
	worker, far := follower.dial(t, after) // at once, through the same follower
	if err := far.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := worker.Read(t.Context()); err != nil || string(text) != "hello" {
		t.Errorf("the next leader's word is %q: %v", text, err)
	}
}

// A follower that ends must end the uplinks that it forwards, so that the workers connect to another orchestrator.
func TestAWorkerBehindAFollowerThatLeavesComesBack(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	accepted := make(chan *websocket.Conn, 1)
	b.lead(leader, 1, uplinks(t, accepted))
	worker, far := follower.dial(t, accepted)
	follower.leave()
	if _, _, err := worker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the worker's connection ended with %v, want a close with %d", err, websocket.StatusServiceRestart)
	}
	if _, _, err := far.Read(t.Context()); err == nil {
		t.Error("the leader's goes on")
	}
}

// A killed leader sends no close frame. The kernel closes its connections, and the follower sends the close frame.
func TestAWorkerBehindAFollowerComesBackWhenTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	killed := make(chan net.Conn, 1)
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, upgradeAnswer)
		killed <- conn
	}))
	conn := follower.upgrade(t, "")
	_ = (<-killed).Close()
	wantAll(t, "the worker", conn, restartFrame)
	_ = conn.Close()
	waittest.Eventually(t, "it does not count any more", func() bool { return follower.uplinks.Load() == 0 })
}

const upgradeAnswer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Accept: x\r\n\r\n"

// upgrade opens an uplink through a member, and sends more right after the request. It returns a reader of what follows
// the response.
func (o *testMember) upgrade(t *testing.T, more string) io.ReadCloser {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(o.public.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /uplink?a=b HTTP/1.1\r\nHost: svc\r\nConnection: X-Hop, Upgrade\r\nUpgrade: websocket\r\nX-Hop: 1\r\nX-Kept: 1\r\nSvc-Peer-Addr: 10.0.0.1:1\r\n\r\n"+more); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get("Sec-WebSocket-Accept") != "x" {
		t.Fatalf("got %v, %v; want an upgrade", answer, err)
	}
	_ = answer.Body.Close()
	return struct {
		io.Reader
		io.Closer
	}{r, conn}
}

// Bytes that the worker sends right after the request, and the leader right after the response, must be relayed first.
// The leader must get the request as the worker sent it, without the headers for one hop.
func TestNothingIsLostThatIsSentBeforeAnUplinkIsRelayed(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	far := make(chan io.ReadWriteCloser, 1)
	var seen *http.Request
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Clone(context.Background())
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, upgradeAnswer+string(message(3000)))
		far <- struct {
			io.Reader
			io.WriteCloser
		}{buffered.Reader, conn}
	}))
	sent := string(message(2500))
	worker := follower.upgrade(t, sent)
	conn := <-far
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
		t.Errorf("the leader read %d bytes: %v", len(got), err)
	}
	if seen.URL.String() != "/uplink?a=b" || seen.Host != "svc" || seen.Header.Get("X-Kept") != "1" || seen.Header.Get("X-Hop") != "" || seen.Header.Get("Upgrade") != "websocket" {
		t.Errorf("it came as %s %s %v", seen.Host, seen.URL, seen.Header)
	}
	if !strings.HasPrefix(seen.RemoteAddr, "127.0.0.1:") {
		t.Errorf("the worker could say where it comes from: %s", seen.RemoteAddr)
	}
	_ = conn.Close()
	wantAll(t, "the worker", worker, append(message(3000), restartFrame...))
}

// The worker must get the leader's response when the leader refuses an uplink.
func TestARefusedUplinkIsAnsweredAsTheLeaderDoes(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		http.Error(w, "too many", http.StatusServiceUnavailable)
	}))
	_, answer, err := websocket.Dial(t.Context(), follower.public.URL+"/uplink", nil)
	if err == nil || answer == nil {
		t.Fatalf("it was accepted: %v", err)
	}
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "3" {
		t.Errorf("answered %s %v", answer.Status, answer.Header)
	}
}

// An uplink that is opened while there is no leader must be connected as soon as there is one.
func TestAnUplinkWaitsForALeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	accepted := make(chan *websocket.Conn, 1)
	dialed := make(chan error, 1)
	go func() {
		worker, _, err := websocket.Dial(t.Context(), follower.public.URL+"/uplink", nil)
		if err == nil {
			_ = worker.CloseNow()
		}
		dialed <- err
	}()
	waittest.Eventually(t, "the request is held", func() bool { return follower.Figures().Forwarded == 1 })
	b.lead(leader, 1, uplinks(t, accepted))
	if err := <-dialed; err != nil {
		t.Error(err)
	}
	_ = (<-accepted).CloseNow()
}

// The leader's response to a refused uplink may be a stream. When the worker goes away, the follower must end it.
func TestTheAnswerToARefusedUplinkEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	gone := make(chan struct{})
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, follower.public.URL+"/uplink", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = answer.Body.Close()
	select {
	case <-gone:
	case <-time.After(waittest.Patience):
		t.Error("the leader still sends the response")
	}
}

// slowWorker is a response writer whose connection accepts nothing.
type slowWorker struct{ http.ResponseWriter }

// Hijack returns the connection.
func (slowWorker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, _ := net.Pipe()
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}

// The end of a term must also wait for uplinks that are about to be relayed.
func TestTheEndOfATermWaitsForUplinksThatAreOpening(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, upgradeAnswer)
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/uplink", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	var handled sync.WaitGroup
	handled.Go(func() { follower.ServeHTTP(slowWorker{httptest.NewRecorder()}, r) })
	waittest.Eventually(t, "the uplink is open", func() bool { return follower.uplinks.Load() == 1 })
	term, _, _ := follower.state()
	term.end()
	term.relayed()
	if n := follower.uplinks.Load(); n != 0 {
		t.Errorf("%d uplinks are open after their term", n)
	}
	handled.Wait()
}

// A worker's registration is forwarded on a connection that ends with it, so that thousands of them at once leave nothing
// behind.
func TestARegistrationIsForwardedOnAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader := newTestMember(t, b, "a")
	follower := newTestMember(t, b, "b", func(c *Config) { c.RegisterPath = "/register" })
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.Close {
			t.Error("the connection is kept")
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(append([]byte("got "), body...))
	}))
	if got := follower.askFor(t, http.MethodPost, "/register", "host"); got != "200 got host" {
		t.Errorf("the worker got %q", got)
	}
}

// Thousands of workers connect at the same moment. A follower sends the leader only a limited number of their requests at
// a time, and no other request waits behind them.
func TestWorkersThatConnectThroughAFollowerAreLinedUp(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader := newTestMember(t, b, "a")
	follower := newTestMember(t, b, "b", func(c *Config) { c.RegisterPath = "/register" })
	free := make(chan struct{})
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	var asked atomic.Int64
	b.lead(leader, 1, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/register" {
			asked.Add(1)
			<-free
		}
	}))
	_ = follower.askFor(t, http.MethodGet, "/other", "") // the leader is known and answers
	var all sync.WaitGroup
	for range arrivals.AtOnceForward + 50 {
		all.Go(func() {
			got := "503 unavailable"
			for got == "503 unavailable" { // refused after a long wait, on a busy machine
				got = follower.askFor(t, http.MethodPost, "/register", "host")
			}
			if got != "200 " {
				t.Errorf("a worker got %q", got)
			}
		})
	}
	waittest.Eventually(t, "the first ones are at the leader", func() bool { return asked.Load() >= arrivals.AtOnceForward })
	if got := follower.askFor(t, http.MethodGet, "/other", ""); got != "200 " {
		t.Errorf("another request got %q", got)
	}
	if n := asked.Load(); n != arrivals.AtOnceForward {
		t.Errorf("%d are at the leader, want %d", n, arrivals.AtOnceForward)
	}
	release()
	all.Wait()
}

// A follower refuses uplinks before it runs out of files: without any it could serve nobody.
func TestAFollowerRefusesUplinksAboveItsLimit(t *testing.T) {
	t.Parallel()
	b, logs := &board{}, &textbuffer.Buffer{}
	leader := newTestMember(t, b, "a")
	follower := newTestMember(t, b, "b", func(c *Config) { c.Log = slog.New(slog.NewTextHandler(logs, nil)) })
	if least := int64(300); follower.forward.mostUplinks < least {
		t.Errorf("the limit is %d, want at least %d", follower.forward.mostUplinks, least)
	}
	follower.forward.mostUplinks, follower.forward.full.Interval = 1, time.Hour
	accepted := make(chan *websocket.Conn, 1)
	mux := http.NewServeMux()
	mux.Handle("/uplink", uplinks(t, accepted))
	mux.HandleFunc("/other", func(http.ResponseWriter, *http.Request) {})
	b.lead(leader, 1, mux)
	worker, _ := follower.dial(t, accepted)
	again := func() (int, error) {
		conn, resp, err := websocket.Dial(t.Context(), follower.public.URL+"/uplink", nil)
		if err != nil {
			return resp.StatusCode, err
		}
		_ = (<-accepted).CloseNow()
		return resp.StatusCode, conn.CloseNow()
	}
	for range 2 {
		if status, err := again(); status != http.StatusServiceUnavailable || err == nil {
			t.Errorf("the second one got %d: %v", status, err)
		}
	}
	if n := strings.Count(logs.String(), "raise LimitNOFILE"); n != 1 {
		t.Errorf("the limit is in the log %d times, want once: %s", n, logs)
	}
	if got := follower.askFor(t, http.MethodGet, "/other", ""); got != "200 " {
		t.Errorf("another request got %q", got)
	}
	_ = worker.CloseNow()
	waittest.Eventually(t, "there is room after the first has gone", func() bool {
		status, err := again()
		return status == http.StatusSwitchingProtocols && err == nil
	})
}

// A process that cannot open another connection refuses at once. It does not conclude that the leader is away, for which
// all other requests would wait too.
func TestTheOwnLimitOfFilesIsNotTheLeadersFault(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader := newTestMember(t, b, "a")
	follower := newTestMember(t, b, "b", func(c *Config) { c.RegisterPath = "/register" })
	var tries atomic.Int64
	full := func(string, string, syscall.RawConn) error {
		tries.Add(1)
		return syscall.EMFILE
	}
	follower.forward.links.dialer = &net.Dialer{Control: full}
	b.lead(leader, 1, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if got := follower.askFor(t, http.MethodGet, "/other", ""); got != "200 " {
		t.Fatalf("before, a request got %q", got)
	}
	if got := follower.askFor(t, http.MethodPost, "/register", "host"); got != "503 unavailable" {
		t.Errorf("a worker got %q", got)
	}
	if n := tries.Load(); n != 1 {
		t.Errorf("it was refused after %d tries, want 1", n)
	}
	if !follower.Figures().Reachable {
		t.Error("the leader counts as unreachable")
	}
	if got := follower.askFor(t, http.MethodGet, "/other", ""); got != "200 " {
		t.Errorf("after it, a request got %q", got)
	}
}
