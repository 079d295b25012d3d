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

// What orchestrators tell each other beside a request. Only the listener for them reads these headers, and takes them off.
const (
	headerPrefix  = "Svc-Peer-"
	headerFrom    = headerPrefix + "From"    // the sender's id
	headerProof   = headerPrefix + "Proof"   // that it holds the signing key
	headerAddr    = headerPrefix + "Addr"    // the client's address
	headerTLS     = headerPrefix + "Tls"     // the client spoke TLS; "verified": with a worker's certificate
	headerRefused = headerPrefix + "Refused" // of an answer: nothing was done
	tlsVerified   = "verified"
)

// proof shows that a replica that speaks to another one holds the signing key. It is good for that pair alone.
func proof(key []byte, from, to string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("svc peer\n" + from + "\n" + to))
	return hex.EncodeToString(mac.Sum(nil))
}

// sign lets a request pass the listener of another replica.
func sign(h http.Header, key []byte, from, to string) {
	h.Set(headerFrom, from)
	h.Set(headerProof, proof(key, from, to))
}

// describe notes beside a request how it came. What a client wrote there itself is dropped.
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

// Peers is the handler of the listener for other orchestrators: their requests are answered as if they had come here.
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

// What orchestrators ask of each other, beside what they forward. No path of the API begins so.
const (
	hintPath = "/peer/hint"
	// FilesPath is below which the leader's files are.
	FilesPath = "/mirror/"
)

// Client sends requests to the leader's listener for orchestrators, at the address that Leader gives.
func (m *Member) Client() *http.Client { return &http.Client{Transport: peerTransport{m}} }

// Leader is the address of the leader, while that is another process.
func (m *Member) Leader() (url string, ok bool) {
	leader, here, _ := m.state()
	if leader == nil || here || leader.Replica == m.ID {
		return "", false
	}
	return "http://" + leader.Address, true
}

type peerTransport struct{ m *Member }

// RoundTrip signs a request for whoever leads now.
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

// Hints tells the leader each time that this process has written something, until ctx ends. committed gives what is closed at the next time. A hint that is lost costs
// the leader the time until it looks by itself.
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

// arrived is a request as it came to the orchestrator that forwarded it.
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

// Prints are what a member shows of its secrets, so that others can see whether theirs are the same.
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
