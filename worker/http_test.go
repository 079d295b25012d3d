package worker

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/config"
	"svc/internal/clocktest"
)

// path is a network path of connections in memory. A server answers at its other end, unless the path is broken: then it
// loses what is sent on the connections of that time, and ends none of them.
type path struct {
	opened int
	broken *atomic.Bool // of the connections that are opened now
}

func (p *path) breaks() {
	p.broken.Store(true)
	p.broken = &atomic.Bool{}
}

func (p *path) dial(context.Context, string, string) (net.Conn, error) {
	p.opened++
	near, far := net.Pipe()
	broken := p.broken
	go func() {
		defer func() { _ = far.Close() }()
		for in := bufio.NewReader(far); ; {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			if !broken.Load() {
				_, _ = io.WriteString(far, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		}
	}()
	return near, nil
}

func TestAReportIsNotSentOnAConnectionThatWasIdleForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := newHTTP(config.Worker{})
		if err != nil {
			t.Fatal(err)
		}
		p := &path{broken: &atomic.Bool{}}
		transport := client.Transport.(*http.Transport) //nolint:forcetypeassert // nothing else is possible
		transport.DialContext, transport.Proxy = p.dial, nil
		defer transport.CloseIdleConnections()
		send := func() time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), httpTimeout)
			defer cancel()
			began := time.Now()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://orchestrator/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
			return time.Since(began)
		}
		_, _ = send(), send()
		if p.opened != 1 {
			t.Errorf("two requests in a row opened %d connections, want 1", p.opened)
		}
		p.breaks()
		clocktest.Pass(keepIdle + time.Millisecond)
		if took := send(); took > time.Second || p.opened != 2 {
			t.Errorf("after the path was broken silently, a request took %v on connection %d", took, p.opened)
		}
	})
}

// An orchestrator that is frozen still takes connections: its kernel does.
func TestAReportWithoutAnswerIsSentAgainOnAnotherConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost int
		want time.Duration
		fits bool
	}{"answered at once": {0, 0, true}, "the first is lost": {1, repeatAfter, true}, "both are lost": {2, repeatAfter + httpTimeout, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &path{broken: &atomic.Bool{}}
				transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					p.broken = &atomic.Bool{}
					p.broken.Store(p.opened < c.lost)
					return p.dial(ctx, network, address)
				}}
				defer transport.CloseIdleConnections()
				w := &Worker{http: &http.Client{Transport: transport}, opts: Options{Config: &config.Config{}}}
				w.opts.Config.Worker.ServerURL = "http://orchestrator"
				began := time.Now()
				_, err := w.postSignal(t.Context(), "of-the-run", "/signals", []byte("{}"), http.Header{})
				if took := time.Since(began); took != c.want || (err == nil) != c.fits || p.opened != min(c.lost+1, 2) {
					t.Errorf("it took %v on %d connections: %v; want %v", took, p.opened, err, c.want)
				}
			})
		})
	}
}

// With HTTP/2 all requests share one connection, and a broken one would take the repeated report too.
func TestEachOpenRequestHasItsOwnConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := newHTTP(config.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	transport := client.Transport.(*http.Transport) //nolint:forcetypeassert // nothing else is possible
	t.Cleanup(transport.CloseIdleConnections)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	transport.TLSClientConfig.RootCAs = pool
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || string(got) != "HTTP/1.1" {
		t.Errorf("the request was sent with %s (%v), want HTTP/1.1", got, err)
	}
}
