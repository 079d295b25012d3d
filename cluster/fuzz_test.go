package cluster

import (
	"bufio"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"svc"
)

// FuzzForwarded sends a request with any headers to the listener for orchestrators, first unsigned and then as a follower
// forwards it. The unsigned request must reach no handler. The forwarded one must reach the leader with the client's
// address, without TLS, and with all headers of the client except those between orchestrators.
func FuzzForwarded(f *testing.F) {
	valid := http.Header{}
	sign(valid, key, "b", "c") // for another member
	f.Add("Authorization: Bearer x\r\nSvc-Peer-Addr: 10.0.0.1:1\r\nSvc-Peer-Tls: verified\r\n")
	f.Add("svc-peer-tls: verified\r\nSVC-PEER-FROM: b\r\nSvc-Peer-Proof: " + valid.Get(headerProof) + "\r\n")
	f.Add("Connection: Svc-Peer-Addr, close\r\nSvc-Peer-Addr: x\r\nSvc-Peer-: y\r\n")
	f.Add("Svc-Peer-From: b\nX-Forwarded-For: 1.2.3.4\n x: folded\n")
	const from = "192.0.2.7:4711"
	f.Fuzz(func(t *testing.T, lines string) {
		in, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET /api/v1/runs HTTP/1.1\r\nHost: svc\r\n" + lines + "\r\n")))
		if err != nil {
			return
		}
		in.RemoteAddr = from
		reached := 0
		var got *http.Request
		m := New(Config{ID: "a", Key: key, Log: slog.New(slog.DiscardHandler), Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
			if svc.CodeOf(err) != svc.CodeUnauthorized {
				t.Fatalf("refused with %v", err)
			}
			w.WriteHeader(http.StatusUnauthorized)
		}})
		stop := m.serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached, got = reached+1, r }), func() {})
		defer stop()

		m.Peers().ServeHTTP(httptest.NewRecorder(), in) // unsigned
		if reached != 0 {
			t.Fatalf("%q reached the leader without the key", lines)
		}

		want := in.Header.Clone()
		unmark(want)
		out := in.Clone(t.Context())
		describe(out.Header, in)
		sign(out.Header, key, "b", "a")
		out.RemoteAddr = "10.0.0.2:1" // the address of the follower
		m.Peers().ServeHTTP(httptest.NewRecorder(), out)
		if reached != 1 || got.RemoteAddr != from || got.TLS != nil {
			t.Fatalf("%q: it was reached %d times, from %q, TLS %v", lines, reached, got.RemoteAddr, got.TLS != nil)
		}
		if !maps.EqualFunc(got.Header, want, slices.Equal) {
			t.Fatalf("%q arrives with %q", lines, got.Header)
		}
		for name := range got.Header {
			if strings.HasPrefix(strings.ToLower(name), strings.ToLower(headerPrefix)) {
				t.Fatalf("%q arrives with %s", lines, name)
			}
		}
	})
}
