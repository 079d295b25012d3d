package worker

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"svc/config"
)

// keepIdle is how long a connection is kept for the next request. A path that breaks silently ends no connection, and a
// report on an old one would wait for the whole time limit of its request.
const keepIdle = 2 * time.Second

// newHTTP returns the HTTP client for the orchestrator. It uses the system's proxies and, when one is
// configured, the worker's own certificate. The certificate is read for each connection, so that a renewed one
// is used without a restart; newHTTP fails when it cannot be read now.
func newHTTP(c config.Worker) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext, transport.IdleConnTimeout = newDialer().DialContext, keepIdle
	// With HTTP/2 all requests would share one connection, which may be broken. Both sides agree on it inside TLS, so the
	// default's TLS settings, which offer it, have to go too.
	transport.Protocols = &http.Protocols{}
	transport.Protocols.SetHTTP1(true)
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.Cert != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
			return &pair, err
		}
		if _, err := read(nil); err != nil {
			return nil, fmt.Errorf("the worker's certificate: %w", err)
		}
		transport.TLSClientConfig.GetClientCertificate = read
	}
	return &http.Client{Transport: transport}, nil
}
