package worker

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"svc/config"
)

// newHTTP is the client for the orchestrator: with the system's proxies, and
// with the worker's own certificate when it has one. The certificate is read for each
// connection, so that a renewed one counts without a restart; that it can be read is
// found out now.
func newHTTP(c config.Worker) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.Cert != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
			return &pair, err
		}
		if _, err := read(nil); err != nil {
			return nil, fmt.Errorf("the worker's certificate: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: read}
	}
	return &http.Client{Transport: transport}, nil
}
