package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"svc"
)

// With a worker_ca, a worker's token alone is not sufficient: the worker must also have a certificate of that CA.
// Users and hooks need none, so a certificate is optional in the handshake and required by path.

// ReadAuthority reads the CA of the workers' certificates; it returns nil without a file name.
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

// checkCertificate returns an error for a worker without a certificate of the CA. An invalid certificate has already
// failed in the handshake.
func (s *Server) checkCertificate(r *http.Request) error {
	if s.workerCAs == nil || r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return nil
	}
	return errNoCertificate
}
