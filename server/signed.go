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

// checkSignature has the engine judge a request that came with a host's own token, but for the registration and the uplink, which has a proof of its own.
// The signature names the hash of the body; a body with another one cannot be read to its end.
func (s *Server) checkSignature(r *http.Request, who engine.Reporter) error {
	if who.Host == "" || who.Attempt != 0 || r.URL.Path == internalRoot+"/worker/register" || r.URL.Path == internalRoot+"/worker/uplink" {
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

// errOtherBody is a body that is not the one that was signed.
var errOtherBody = svc.Errorf(svc.CodeUnauthorized, "the body is not the one that was signed")

// hashedBody ends with an error unless it has the hash that it should have.
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
