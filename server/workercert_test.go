package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a CA for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

// file writes the CA certificate to a PEM file and returns its path.
func (a authority) file(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// client returns a client certificate.
func (a authority) client(t *testing.T) []tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
}

func TestAWorkersTokenNeedsACertificateOfItsAuthority(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t)
	ours, others := newAuthority(t), newAuthority(t)
	g := newRig(t, func(o *Options) { o.TLSCert, o.TLSKey, o.WorkerCA = cert, key, ours.file(t) })
	addr, stop := g.start()
	// ask sends a request and returns the status; -1 when the handshake fails.
	ask := func(certs []tls.Certificate, method, path, token string) int {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, Certificates: certs}}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr.String()+path, strings.NewReader(`{"host_name":"a","platform":"p","instance_id":"0190a0c4-0000-4000-8000-000000000009"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			return -1
		}
		_ = res.Body.Close()
		if res.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s %s: a browser may come back in plain text", method, path)
		}
		return res.StatusCode
	}
	const register, uplink, signals = "/api/internal/worker/register", "/api/internal/worker/uplink", "/api/internal/runs/0190a0c4-0000-4000-8000-000000000001/signals"
	for _, c := range []struct {
		name         string
		certs        []tls.Certificate
		method, path string
		token        string
		want         int
	}{
		{"a worker without one registers", nil, "POST", register, workerToken, http.StatusForbidden},
		{"a worker without one opens the uplink", nil, "GET", uplink, workerToken, http.StatusForbidden},
		{"a worker without one signals", nil, "POST", signals, workerToken, http.StatusForbidden},
		{"a worker of another authority", others.client(t), "POST", register, workerToken, -1},
		{"a worker with one", ours.client(t), "POST", register, workerToken, http.StatusNotFound}, // the host does not exist
		{"one without a token", ours.client(t), "POST", register, "wrong", http.StatusUnauthorized},
		{"a person without one", nil, "GET", "/api/v1/me", userToken, http.StatusOK},
	} {
		if got := ask(c.certs, c.method, c.path, c.token); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAnAuthorityWithoutACertificateIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + ".missing"} {
		if _, err := ReadAuthority(path); err == nil || !strings.Contains(err.Error(), "authority of the workers' certificates") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestPlainHTTPMakesNoPromiseOfTLS(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if got := g.call("GET", "/healthz", nil).Header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("plain HTTP says %q", got)
	}
}
