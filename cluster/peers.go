package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"svc"
)

// Headers that orchestrators add to the requests and responses between them. In requests, only the listener for
// orchestrators reads them, and it removes them before the request is handled.
const (
	headerPrefix  = "Svc-Peer-"
	headerFrom    = headerPrefix + "From"    // the sender's ID
	headerProof   = headerPrefix + "Proof"   // proves that the sender has the signing key
	headerAddr    = headerPrefix + "Addr"    // the client's address
	headerTLS     = headerPrefix + "Tls"     // the client uses TLS; "verified": with a worker's certificate
	headerRefused = headerPrefix + "Refused" // of a response: the request was refused before anything was done
	tlsVerified   = "verified"
)

// proof returns the proof that a replica has the signing key. It is valid only for this sender and this receiver.
func proof(key []byte, from, to string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("svc peer\n" + from + "\n" + to))
	return hex.EncodeToString(mac.Sum(nil))
}

// sign adds the headers without which the listener of another replica refuses a request.
func sign(h http.Header, key []byte, from, to string) {
	h.Set(headerFrom, from)
	h.Set(headerProof, proof(key, from, to))
}

// describe adds headers that describe the client's connection. It removes such headers that the client sent itself.
func describe(h http.Header, in *http.Request) {
	unmark(h)
	h.Set(headerAddr, in.RemoteAddr)
	if in.TLS != nil {
		h.Set(headerTLS, "yes")
		if len(in.TLS.VerifiedChains) > 0 {
			h.Set(headerTLS, tlsVerified)
		}
	}
}

func unmark(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, headerPrefix) {
			delete(h, name)
		}
	}
}

// Peers returns the handler of the listener for other orchestrators. While this process leads, it handles their requests
// as if clients had sent them to this process. Otherwise it refuses them.
func (m *Member) Peers() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.Header.Get(headerFrom)
		if !hmac.Equal([]byte(r.Header.Get(headerProof)), []byte(proof(m.Key, from, m.ID))) {
			w.Header().Set(headerRefused, "unknown")
			m.Refuse(w, r, svc.Errorf(svc.CodeUnauthorized, "this address is for other orchestrators"))
			return
		}
		if m.Accepted != nil {
			m.Accepted(r)
		}
		h, leave, ok := m.enter()
		if !ok {
			w.Header().Set(headerRefused, "not-leading")
			m.Refuse(w, r, errNoLeader)
			return
		}
		defer leave()
		switch {
		case r.URL.Path == hintPath:
			m.Hint()
		case strings.HasPrefix(r.URL.Path, FilesPath):
			m.Files.ServeHTTP(w, r)
		default:
			h.ServeHTTP(w, arrived(r))
		}
	})
}

// Paths of the requests that orchestrators do not forward, but send themselves. No path of the API begins like them.
const (
	hintPath = "/peer/hint"
	// FilesPath is the prefix of the paths of the leader's files.
	FilesPath = "/mirror/"
)

// Client returns a client for the leader's listener for orchestrators. Leader returns the URL of that listener.
func (m *Member) Client() *http.Client { return &http.Client{Transport: peerTransport{m}} }

// Leader returns the URL of the leader's listener for orchestrators. ok is false if no other process leads.
func (m *Member) Leader() (url string, ok bool) {
	leader, here, _ := m.state()
	if leader == nil || here || leader.Replica == m.ID {
		return "", false
	}
	return "http://" + leader.Address, true
}

type peerTransport struct{ m *Member }

// RoundTrip signs a request and sends it to the leader. It returns an error if the request is for the address of another
// orchestrator.
func (t peerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	leader, _, _ := t.m.state()
	if leader == nil || leader.Address != r.URL.Host {
		return nil, errNotLeading
	}
	r = r.Clone(r.Context())
	sign(r.Header, t.m.Key, t.m.ID, leader.Replica)
	resp, err := t.m.forward.inner.RoundTrip(r)
	if r.Context().Err() == nil && leader.ctx.Err() == nil {
		leader.reached(err == nil)
	}
	if err == nil && resp.Header.Get(headerRefused) != "" {
		_ = resp.Body.Close()
		return nil, errNotLeading
	}
	return resp, err
}

// Hints sends the leader a hint each time this process has written to the database, until ctx ends. committed returns a
// channel that is closed at the next write. If a hint is lost, the leader finds the change when it polls the database.
func (m *Member) Hints(ctx context.Context, committed func() <-chan struct{}) {
	client := m.Client()
	client.Timeout = time.Second
	for next := committed(); ; {
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
		next = committed()
		if url, ok := m.Leader(); ok {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+hintPath, http.NoBody)
			if err != nil {
				continue
			}
			if resp, err := client.Do(r); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
}

// arrived returns a request as the orchestrator that forwarded it received it.
func arrived(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	if addr := r.Header.Get(headerAddr); addr != "" {
		r.RemoteAddr = addr
	}
	switch r.Header.Get(headerTLS) {
	case "":
	case tlsVerified:
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{}}}
	default:
		r.TLS = &tls.ConnectionState{}
	}
	unmark(r.Header)
	return r
}

// Prints returns fingerprints of the secrets of a member, with which other members can check whether theirs are the
// same. No secret can be derived from them.
func Prints(key []byte, tokens ...string) (ofKey, ofTokens string) {
	print := func(label string, parts ...string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(label))
		for _, p := range parts {
			sum := sha256.Sum256([]byte(p))
			mac.Write(sum[:])
		}
		return hex.EncodeToString(mac.Sum(nil)[:16])
	}
	return print("svc key"), print("svc tokens", tokens...)
}
