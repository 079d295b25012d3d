package server

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"net/http"

	"svc"
	"svc/engine"
	"svc/wire"
)

// checkSignature verifies the signature of a request with a host's own token. It skips the registration, and the
// uplink, which has its own proof. The signature includes the hash of the body; reading a body with another hash ends
// with an error.
func (s *Server) checkSignature(r *http.Request, who engine.Reporter) error {
	if who.Host == "" || who.Attempt != 0 || r.URL.Path == RegisterPath || r.URL.Path == UplinkPath {
		return nil
	}
	target := r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	want := r.Header.Get(wire.HeaderBodyHash)
	if err := s.Engine.AdmitRequest(r.Context(), who.Host, wire.RequestProof(r.Method, target, want), r.Header.Get(wire.HeaderSignature)); err != nil {
		return err
	}
	if want != "" && r.Body != nil {
		r.Body = &hashedBody{ReadCloser: r.Body, sum: sha256.New(), want: want}
	}
	return nil
}

// errOtherBody is the error for a body that differs from the signed one.
var errOtherBody = svc.Errorf(svc.CodeUnauthorized, "the body is not the one that was signed")

// hashedBody returns an error at the end of the body when its hash is not want.
type hashedBody struct {
	io.ReadCloser
	sum  hash.Hash
	want string
}

func (b *hashedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(b.sum.Sum(nil)) != b.want {
		err = errOtherBody
	}
	return n, err
}
