package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"svc"
	"svc/arrivals"
)

const (
	// holdLimit is how long a request waits for a leader. A new leader takes over within that time.
	holdLimit = 12 * time.Second
	// repeatBytes is the longest body that is buffered, so that its request can be sent again.
	repeatBytes = 4 << 20
	keptBytes   = 64 << 20 // limit for all buffered bodies together
	shortAnswer = 64 << 10 // bytes; a longer response is treated like a stream
	// headerIdempotency makes any request repeatable.
	headerIdempotency = "Idempotency-Key"
)

var (
	errNoLeader    = svc.Errorf(svc.CodeUnavailable, "no orchestrator leads at the moment; try again")
	errUnreachable = svc.Errorf(svc.CodeReplicaUnreachable, "the orchestrator that leads cannot be reached from here; try again, or ask another one")
	errFull        = svc.Errorf(svc.CodeUnavailable, "this orchestrator has reached its limit of open files; ask another one")
	errUnknown     = svc.Errorf(svc.CodeOutcomeUnknown, "the orchestrator that was asked went away before it answered; look what became of the request, or repeat it with the same Idempotency-Key")
)

// ServeHTTP handles a request of a client or worker. While this process leads, it passes the request to its own handler.
// Otherwise it forwards the request to the leader, or passes it to Standby.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.ready() != nil && r.Header.Get("Upgrade") == "" {
		w.Header().Set("Connection", "close") // the client's next connection may reach an orchestrator that is ready
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, "ok")
		return
	case "/readyz":
		if m.readyz(w, r) {
			return
		}
	case "/metrics": // each orchestrator returns its own
		if _, here, _ := m.state(); !here && m.Standby != nil {
			m.Standby.ServeHTTP(w, r)
			return
		}
	case m.UplinkPath:
		w = &counted{w, &m.uplinks}
	}
	if h, leave, ok := m.enter(); ok {
		defer leave()
		h.ServeHTTP(w, r)
		return
	}
	if m.standsBy(r) {
		m.Standby.ServeHTTP(w, r)
		return
	}
	m.forward.ServeHTTP(w, r)
}

// readyz responds to the question whether this process is ready. It does not wait for a leader. It returns false if
// this process is ready and leads: then the leader's handler must respond.
func (m *Member) readyz(w http.ResponseWriter, r *http.Request) (answered bool) {
	err := m.ready()
	leader, here, _ := m.state()
	switch {
	case err == nil && here:
		return false
	case err == nil:
		err = m.reachable()
	}
	switch {
	case err != nil:
		m.refuse(w, r, err)
	case m.Standby != nil && leader != nil:
		m.Standby.ServeHTTP(w, r) // its response contains warnings for operators
	default:
		answer(w, "ready")
	}
	return true
}

// answer sends the status of this process.
func answer(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, `{"status":"`+status+`"}`+"\n")
}

// refuse responds with an error to a request that this process cannot handle. It closes the connection, because the
// client's next connection may reach an orchestrator that can handle the request.
func (m *Member) refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Connection", "close")
	m.Refuse(w, r, err)
}

// standsBy reports whether Standby handles a request although another orchestrator leads. Without a leader it does not,
// because nothing may be written then: an orchestrator that serves the database alone may be about to start.
func (m *Member) standsBy(r *http.Request) bool {
	leader, _, _ := m.state()
	return m.Standby != nil && leader != nil && leader.ctx.Err() == nil && m.ready() == nil && m.Records(r)
}

// forwarder sends requests to the leader.
type forwarder struct {
	m     *Member
	proxy *httputil.ReverseProxy
	inner http.RoundTripper
	links ownConns
	kept  *semaphore.Weighted // bytes of buffered bodies
	line  *arrivals.Line      // of workers that connect

	mostUplinks int64
	opening     atomic.Int64   // uplinks
	full        rate.Sometimes // limits the log lines about refused workers

	requests, failed atomic.Int64
}

func newForwarder(m *Member) *forwarder {
	dialer := &net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}
	f := &forwarder{m: m, kept: semaphore.NewWeighted(keptBytes), line: arrivals.NewLine(arrivals.AtOnceForward), links: ownConns{dialer},
		mostUplinks: mostUplinks(), full: rate.Sometimes{Interval: 10 * time.Second}, inner: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: true,
		}}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: f.rewrite, Transport: f, FlushInterval: -1, BufferPool: buffers{},
		ModifyResponse: f.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, errRelayed) {
				return
			}
			asked, _ := r.Context().Value(requestKey{}).(*http.Request)
			if r.Context().Err() == nil {
				f.failed.Add(1)
			}
			switch {
			case r.Context().Err() != nil:
			case errors.Is(err, errUnreachable) && m.Standby != nil && m.RecordsMostly(asked):
				m.Standby.ServeHTTP(w, asked)
			default:
				f.refuse(w, r, err)
			}
		},
		ErrorLog: slog.NewLogLogger(m.Log.Handler(), slog.LevelDebug),
	}
	return f
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	if f.opensUplink(r) {
		opening := f.opening.Add(1)
		defer f.opening.Add(-1)
		if opening+f.m.uplinks.Load() > f.mostUplinks {
			f.refuse(w, r, errFull)
			return
		}
	}
	if f.connects(r) {
		leave, err := f.line.Enter(r.Context())
		if err != nil {
			f.m.refuse(w, r, err)
			return
		}
		defer leave()
	}
	asked, once := r, &onceBody{Reader: r.Body}
	ctx := context.WithValue(r.Context(), requestKey{}, asked)
	ctx = context.WithValue(ctx, writerKey{}, w)
	r = r.WithContext(context.WithValue(ctx, bodyKey{}, once))
	release, err := f.keepBody(r)
	defer release()
	if err != nil {
		f.m.refuse(w, r, svc.Errorf(svc.CodeUnavailable, "the request could not be read; try again").Because(err))
		return
	}
	f.proxy.ServeHTTP(w, r)
}

// refuse responds with an error, and logs it if the limit of open files is the reason.
func (f *forwarder) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errFull) {
		f.full.Do(func() {
			f.m.Log.Warn("this orchestrator has reached its limit of open files and refuses workers; raise LimitNOFILE",
				"uplinks", f.m.uplinks.Load(), "most", f.mostUplinks)
		})
	}
	f.m.refuse(w, r, err)
}

type (
	requestKey struct{} // the request as received
	writerKey  struct{}
	bodyKey    struct{}
)

// keepBody buffers the body of a request, so that the request can be sent again. That happens if the request is
// repeatable, or if a leader refused it before it did anything. All buffered bodies share a quota, because the sender
// is not authenticated here. A body that is too long or exceeds the quota is not buffered. Its onceBody then records
// whether any of it was read. release returns the bytes to the quota.
func (f *forwarder) keepBody(r *http.Request) (release func(), err error) {
	release = func() {}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		r.Body = http.NoBody
		r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
		return release, nil
	}
	size := r.ContentLength
	if size < 0 || size > repeatBytes || !f.kept.TryAcquire(size) {
		r.Body, _ = r.Context().Value(bodyKey{}).(*onceBody)
		return release, nil
	}
	release = func() { f.kept.Release(size) }
	body := make([]byte, size)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return release, err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return release, nil
}

// repeatable reports whether a request may be sent again although the leader may have received it.
func (f *forwarder) repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return r.Header.Get(headerIdempotency) != "" || f.m.Repeatable(r)
}

// onceBody is a body that can be sent only once. The transport closes it after each attempt.
type onceBody struct {
	io.Reader
	mu      sync.Mutex // guards touched
	touched bool
}

func (b *onceBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.touched = true
	b.mu.Unlock()
	return b.Reader.Read(p)
}

// Close does nothing: the HTTP server reads the rest of the body.
func (b *onceBody) Close() error { return nil }

// whole reports whether nothing was read from the body yet.
func (b *onceBody) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.touched
}

// RoundTrip sends a request to the leader. It waits for a leader if there is none, and sends the request again after an
// error if that is safe. Both end after holdLimit.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := time.NewTimer(holdLimit)
	defer limit.Stop()
	for {
		leader, _, changed := f.m.state()
		var left <-chan struct{}
		if leader == nil { // after leaving ends, this process does not find a new leader
			if left = f.m.leaving.Done(); f.m.leaving.Err() != nil {
				return nil, svc.Unavailable(svc.CauseShuttingDown)
			}
		}
		if err := f.m.ready(); err != nil && svc.CauseOf(err) != svc.CauseDraining {
			return nil, err
		}
		var answered <-chan struct{}
		var pause time.Duration
		if leader != nil {
			var ok bool
			if ok, answered, pause = leader.queue.mayTry(time.Now()); ok {
				resp, sent, err := f.once(r, leader)
				switch {
				case err == nil:
					return resp, nil
				case r.Context().Err() != nil:
					return nil, r.Context().Err()
				case outOfFiles(err):
					return nil, errors.Join(errFull, err)
				case errors.Is(err, errNotLeading) && !intact(r):
					return nil, errNoLeader
				case sent && !f.repeatable(r) || !intact(r):
					return nil, errUnknown.Because(err)
				}
				pause = retryPause
				if !errors.Is(err, errNotLeading) && leader.cut() {
					return nil, errors.Join(errUnreachable, err)
				}
			} else if leader.cut() {
				return nil, errUnreachable
			}
		}
		var again <-chan time.Time
		if pause > 0 {
			again = time.After(pause)
		}
		select {
		case <-changed:
		case <-answered:
		case <-again:
		case <-left:
		case <-limit.C:
			return nil, errNoLeader
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// intact reports whether the request's body can still be sent from its beginning.
func intact(r *http.Request) bool {
	once, ok := r.Context().Value(bodyKey{}).(*onceBody) // from the context, because the proxy has wrapped the body
	return r.GetBody != nil || ok && once.whole()
}

var errNotLeading = errors.New("it does not lead yet, or no more")

// once sends a request to a leader once. sent reports whether the leader may have received it.
func (f *forwarder) once(r *http.Request, leader *term) (_ *http.Response, sent bool, err error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(leader.ctx, cancel)
	done := func() { stop(); cancel() }
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent = true }})
	out := r.Clone(traced)
	if r.GetBody != nil {
		if out.Body, err = r.GetBody(); err != nil {
			done()
			return nil, false, err
		}
	}
	out.URL.Scheme, out.URL.Host = "http", leader.Address
	sign(out.Header, f.m.Key, f.m.ID, leader.Replica)
	way := f.inner
	switch {
	case f.opensUplink(out):
		way = f.links
	case f.connects(out):
		way, out.Close = f.links, true
	}
	resp, err := way.RoundTrip(out)
	if r.Context().Err() == nil && leader.ctx.Err() == nil && !outOfFiles(err) {
		leader.reached(err == nil)
		leader.queue.tried(err == nil && resp.Header.Get(headerRefused) == "")
	}
	if err != nil {
		done()
		return nil, sent, err
	}
	if resp.Header.Get(headerRefused) != "" { // the leader's listener for orchestrators refused it before it did anything
		_ = resp.Body.Close()
		done()
		return nil, false, errNotLeading
	}
	if side, ok := resp.Body.(*leaderSide); ok { // the term's relay closes it
		side.leader = leader
		done()
		return resp, true, nil
	}
	if !short(resp) {
		body, ended := resp.Body, done
		stopLeaving := context.AfterFunc(f.m.leaving, func() { _ = body.Close() })
		done = func() { stopLeaving(); ended() }
	}
	resp.Body = bound(leader.ctx, resp.Body, done)
	return resp, true, nil
}

// short reports whether a response is none of stream, socket and large file.
func short(resp *http.Response) bool {
	return resp.ContentLength >= 0 && resp.ContentLength <= shortAnswer && resp.StatusCode != http.StatusSwitchingProtocols
}

// bound returns a body that is closed when ctx, the leader's term, ends. The body of a socket can also be written, and
// ends with a close frame if the leader sent none. Close calls done.
func bound(ctx context.Context, body io.ReadCloser, done func()) io.ReadCloser {
	b := &boundBody{ReadCloser: body, done: sync.OnceFunc(done)}
	b.stop = context.AfterFunc(ctx, func() { _ = body.Close() })
	if tunnel, ok := body.(io.ReadWriteCloser); ok { // the connection of a socket
		b.ReadCloser = struct {
			io.Reader
			io.Closer
		}{&spoken{Reader: body}, body}
		return &boundTunnel{boundBody: b, Writer: tunnel}
	}
	return b
}

type boundBody struct {
	io.ReadCloser
	stop func() bool
	done func()
}

// Close closes the body before the term ends.
func (b *boundBody) Close() error {
	b.stop()
	err := b.ReadCloser.Close()
	b.done()
	return err
}

type boundTunnel struct {
	*boundBody
	io.Writer
}

// rewrite prepares a request for the leader. It restores the host, the query and the forwarding headers as received,
// and adds the headers that describe the client's connection.
func (f *forwarder) rewrite(r *httputil.ProxyRequest) {
	r.Out.Host = r.In.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[h]; ok {
			r.Out.Header[h] = v
		}
	}
	describe(r.Out.Header, r.In)
}

// answered processes a response of the leader before it is sent to the client. It starts to relay an uplink. For a
// stream or a large file it removes the deadlines of short responses: the leader itself disconnects clients that do not
// read.
func (f *forwarder) answered(resp *http.Response) error {
	r := resp.Request
	if resp.StatusCode < 400 && f.m.Accepted != nil {
		f.m.Accepted(r)
	}
	w, _ := r.Context().Value(writerKey{}).(http.ResponseWriter)
	if side, ok := resp.Body.(*leaderSide); ok {
		return f.relay(w, resp, side)
	}
	if !short(resp) {
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Time{})
		_ = c.SetWriteDeadline(time.Time{})
	}
	return nil
}

// buffers is the pool of the buffers with which the proxy copies responses.
type buffers struct{}

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Get returns a buffer.
func (buffers) Get() []byte { return *bufferPool.Get().(*[]byte) } //nolint:forcetypeassert // nothing else is in the pool

// Put returns a buffer to the pool.
func (buffers) Put(b []byte) { bufferPool.Put(&b) }
