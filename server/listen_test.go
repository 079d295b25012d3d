package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/waittest"
)

// start runs the rig's server on its own listener. The returned function ends it and returns the result of Run.
func (g *rig) start() (net.Addr, func() error) {
	g.Helper()
	g.endpoint.Addr = "127.0.0.1:0"
	addr, err := g.Listen(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	return addr, func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(waittest.Patience):
			return fmt.Errorf("Run did not return")
		}
	}
}

func TestAShutdownAnswersWhatIsInFlightAndEndsStreams(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	register(g.Server, huma.Operation{OperationID: "wait", Method: http.MethodGet, Path: "/wait"}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		close(entered)
		<-leave
		return nil, ctx.Err()
	})
	addr, stop := g.start()
	g.URL = "http://" + addr.String()
	_, lines := g.follow(t.Context(), "")
	inFlight := make(chan int, 1)
	go func() { inFlight <- g.call("GET", "/api/v1/wait", nil).Status }()
	<-entered
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for range lines { // the stream ends although the request is still in flight
	}
	close(leave)
	if status := <-inFlight; status != http.StatusNoContent {
		t.Errorf("the request in flight got %d", status)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := net.Dial("tcp", addr.String()); err == nil {
		t.Error("it still listens")
	}
}

func TestATakenAddressIsAnError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	g := newRig(t, func(o *Options) { o.Addr = l.Addr().String() })
	if err := g.Run(t.Context()); err == nil {
		t.Error("got no error")
	}
}

func TestTLSServesTheSameWithFilesOnDisk(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t)
	g := newRig(t, func(o *Options) { o.TLSCert, o.TLSKey = cert, key })
	addr, stop := g.start()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get("https://" + addr.String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("got %d", res.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func selfSigned(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for file, data := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

func TestAHugeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	addr, stop := g.start()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	go func() { _, _ = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: %0200000d\r\n\r\n", 1) }()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", res.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for name, change := range map[string]func(*Options){
		"no engine": func(o *Options) { o.Engine = nil }, "no worker token": func(o *Options) { o.WorkerToken = "" },
		"one token for both": func(o *Options) { o.WorkerToken = userToken },
		"half of TLS":        func(o *Options) { o.TLSCert = "x" }, "no live": func(o *Options) { o.Live = nil },
	} {
		o := g.Options
		o.Registry = nil
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestAStreamWhoseClientDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.stall = 200 * time.Millisecond
	project, _ := g.task()
	long := strings.Repeat("x", 64<<10)
	for range 150 { // a snapshot that is larger than the buffers of a socket
		g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": "x", "description": long})
	}
	addr, stop := g.start()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET /api/v1/events/stream?last_event_id=999999999 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", userToken); err != nil {
		t.Fatal(err)
	}
	streams := func(n int) bool {
		return strings.Contains(g.call("GET", "/metrics", nil).Body, fmt.Sprintf("svc_event_streams %d\n", n))
	}
	waittest.Eventually(t, "the stream is open", func() bool { return streams(1) })
	waittest.Eventually(t, "the client is cut off", func() bool { return streams(0) })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestABodyThatDoesNotArriveIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.bodyLimit = 100 * time.Millisecond
	addr, stop := g.start()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /api/v1/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", userToken); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(waittest.Patience))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d", res.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
