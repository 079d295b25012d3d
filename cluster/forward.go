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

	"svc"
)

const (
	// holdLimit is how long a request waits for a leader: a new one takes over within that time.
	holdLimit  = 12 * time.Second
	retryPause = 50 * time.Millisecond
	// repeatBytes bounds the body of a request that is kept, so that it can be sent again.
	repeatBytes = 4 << 20
	keptBytes   = 64 << 20 // of all bodies that are kept at a time
	shortAnswer = 64 << 10 // bytes
	// headerIdempotency makes any request one that may be repeated.
	headerIdempotency = "Idempotency-Key"
)

var (
	errNoLeader    = svc.Errorf(svc.CodeUnavailable, "no orchestrator leads at the moment; try again")
	errUnreachable = svc.Errorf(svc.CodeReplicaUnreachable, "the orchestrator that leads cannot be reached from here; try again, or ask another one")
	errUnknown     = svc.Errorf(svc.CodeOutcomeUnknown, "the orchestrator that was asked went away before it answered; look what became of the request, or repeat it with the same Idempotency-Key")
)

// ServeHTTP answers a request from outside: here while this process leads, else where the leader is.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.ready() != nil && r.Header.Get("Upgrade") == "" {
		w.Header().Set("Connection", "close") // the next request may lead to an orchestrator that stays
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, "ok")
		return
	case "/readyz":
		if m.readyz(w, r) {
			return
		}
	case "/metrics": // each tells of itself
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

// readyz answers the question whether this process is ready, unless it leads. The answer does not wait for a leader.
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
		m.Standby.ServeHTTP(w, r) // it knows what someone should look at
	default:
		answer(w, "ready")
	}
	return true
}

// answer tells how this process is.
func answer(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, `{"status":"`+status+`"}`+"\n")
}

// refuse answers a request that cannot be served here, and ends its connection: the next one may lead to an orchestrator that can.
func (m *Member) refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Connection", "close")
	m.Refuse(w, r, err)
}

// standsBy says whether a request is answered here although another one leads. Without a leader nobody may write: someone may be about to take the database alone.
func (m *Member) standsBy(r *http.Request) bool {
	leader, _, _ := m.state()
	return m.Standby != nil && leader != nil && leader.ctx.Err() == nil && m.ready() == nil && m.Records(r)
}

// forwarder sends requests to the leader.
type forwarder struct {
	m     *Member
	proxy *httputil.ReverseProxy
	inner http.RoundTripper
	links upgrader
	kept  *semaphore.Weighted // bytes of bodies

	requests, failed atomic.Int64
}

func newForwarder(m *Member) *forwarder {
	dialer := &net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}
	f := &forwarder{m: m, kept: semaphore.NewWeighted(keptBytes), links: upgrader{dialer}, inner: &http.Transport{
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
				m.refuse(w, r, err)
			}
		},
		ErrorLog: slog.NewLogLogger(m.Log.Handler(), slog.LevelDebug),
	}
	return f
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
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

type (
	requestKey struct{} // the request as it came
	writerKey  struct{}
	bodyKey    struct{}
)

// keepBody keeps the body of a request, which may be sent more than once: again because that does no harm, or because it was refused before anything was done. Of a
// body that is too long to be kept, or for which there is no room, it is noted whether it was touched: the sender is not known here. release gives the room back.
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

// repeatable says whether a request that may have arrived may be sent again.
func (f *forwarder) repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return r.Header.Get(headerIdempotency) != "" || f.m.Repeatable(r)
}

// onceBody is a body that can be sent once. The transport closes it after each try.
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

// Close leaves the body to the server, which reads what is left of it.
func (b *onceBody) Close() error { return nil }

// whole says whether nobody has read from it.
func (b *onceBody) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.touched
}

// RoundTrip sends a request to whoever leads, again when that can do no harm.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := time.NewTimer(holdLimit)
	defer limit.Stop()
	for {
		leader, _, changed := f.m.state()
		var left <-chan struct{}
		if leader == nil { // and none is looked for any more
			if left = f.m.leaving.Done(); f.m.leaving.Err() != nil {
				return nil, svc.Unavailable(svc.CauseShuttingDown)
			}
		}
		if err := f.m.ready(); err != nil && svc.CauseOf(err) != svc.CauseDraining {
			return nil, err
		}
		var pause <-chan time.Time
		if leader != nil {
			resp, sent, err := f.once(r, leader)
			switch {
			case err == nil:
				return resp, nil
			case r.Context().Err() != nil:
				return nil, r.Context().Err()
			case errors.Is(err, errNotLeading) && !intact(r):
				return nil, errNoLeader
			case sent && !f.repeatable(r) || !intact(r):
				return nil, errUnknown.Because(err)
			}
			if !errors.Is(err, errNotLeading) && leader.cut() {
				return nil, errors.Join(errUnreachable, err)
			}
			pause = time.After(retryPause)
		}
		select {
		case <-changed:
		case <-pause:
		case <-left:
		case <-limit.C:
			return nil, errNoLeader
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// intact says whether the request's body can still be sent from its beginning.
func intact(r *http.Request) bool {
	once, ok := r.Context().Value(bodyKey{}).(*onceBody) // whatever it was wrapped in since
	return r.GetBody != nil || ok && once.whole()
}

var errNotLeading = errors.New("it does not lead yet, or no more")

// once sends a request to a leader. sent says whether it may have arrived.
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
	if f.opensUplink(out) {
		way = f.links
	}
	resp, err := way.RoundTrip(out)
	if r.Context().Err() == nil && leader.ctx.Err() == nil {
		leader.reached(err == nil)
	}
	if err != nil {
		done()
		return nil, sent, err
	}
	if resp.Header.Get(headerRefused) != "" { // by the listener for other orchestrators, before anything was done
		_ = resp.Body.Close()
		done()
		return nil, false, errNotLeading
	}
	if side, ok := resp.Body.(*leaderSide); ok { // it ends with the relay of the term
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

// short says whether an answer is no stream, socket or large file.
func short(resp *http.Response) bool {
	return resp.ContentLength >= 0 && resp.ContentLength <= shortAnswer && resp.StatusCode != http.StatusSwitchingProtocols
}

// bound ends a body with the leader's term.
func bound(ctx context.Context, body io.ReadCloser, done func()) io.ReadCloser {
	b := &boundBody{ReadCloser: body, done: sync.OnceFunc(done)}
	b.stop = context.AfterFunc(ctx, func() { _ = body.Close() })
	if tunnel, ok := body.(io.ReadWriteCloser); ok { // of a socket
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

// Close ends it before its time.
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

// rewrite prepares a request for the leader: as it came, with where it came from beside it.
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

// answered looks at the answer before it goes out: the limits of a short one do not hold for a stream or a large file. The leader cuts off who does not read them.
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

// buffers are those that answers are copied through.
type buffers struct{}

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Get takes one.
func (buffers) Get() []byte { return *bufferPool.Get().(*[]byte) } //nolint:forcetypeassert // nothing else is in the pool

// Put gives it back.
func (buffers) Put(b []byte) { bufferPool.Put(&b) }
