package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificate creates a test CA, and a server certificate for 127.0.0.1 that is signed by it:
//
//	certificate
//
// It writes ca.pem, cert.pem and key.pem, and for a worker worker-cert.pem and worker-key.pem.
func certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: certificate")
	}
	ts.Check(makeCertificate(ts.MkAbs(".")))
}

func makeCertificate(dir string) error {
	authority, authorityKey, err := signed(&x509.Certificate{
		Subject: pkix.Name{CommonName: "our own CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	if err != nil {
		return err
	}
	leaf, leafKey, err := signed(&x509.Certificate{
		Subject: pkix.Name{CommonName: "svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}, authority, authorityKey)
	if err != nil {
		return err
	}
	worker, workerKey, err := signed(&x509.Certificate{
		Subject: pkix.Name{CommonName: "here"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}, authority, authorityKey)
	if err != nil {
		return err
	}
	key, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		return err
	}
	ofWorker, err := x509.MarshalECPrivateKey(workerKey)
	if err != nil {
		return err
	}
	return errors.Join(
		writePEM(filepath.Join(dir, "worker-cert.pem"), "CERTIFICATE", worker.Raw),
		writePEM(filepath.Join(dir, "worker-key.pem"), "EC PRIVATE KEY", ofWorker),
		writePEM(filepath.Join(dir, "ca.pem"), "CERTIFICATE", authority.Raw),
		writePEM(filepath.Join(dir, "cert.pem"), "CERTIFICATE", leaf.Raw),
		writePEM(filepath.Join(dir, "key.pem"), "EC PRIVATE KEY", key))
}

// signed creates a certificate and its key. Without a parent the certificate is self-signed.
func signed(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
