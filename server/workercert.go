package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"svc"
)

// With a worker_ca, a worker's token alone opens nothing: whoever uses it must also hold a
// certificate of that authority. People and hooks need none, so that a certificate is
// asked for in the handshake and demanded by path.

// ReadAuthority reads the authority of the workers' certificates; nil without a
// file.
func ReadAuthority(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // no authority is a pool of its own kind
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the workers' certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authority of the workers' certificates: there is no certificate in %s", file)
	}
	return pool, nil
}

func (p *Endpoint) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.Workers != nil {
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, p.Workers
	}
	return c
}

var errNoCertificate = svc.Errorf(svc.CodeForbidden, "a worker needs a certificate here: [worker] cert and key, signed by the authority in [server] worker_ca")

// checkCertificate refuses a worker that has shown no certificate of the
// authority. A wrong one has failed in the handshake.
func (s *Server) checkCertificate(r *http.Request) error {
	if s.workerCAs == nil || r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return nil
	}
	return errNoCertificate
}
