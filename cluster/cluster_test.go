package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/waittest"
	"svc/store"
)

// board is a registry in memory that several members share.
type board struct {
	mu   sync.Mutex // guards the rest
	term store.Term
	down bool
}

func (b *board) set(change func(*board)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *board) Look(context.Context) (store.Term, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return store.Term{}, errors.New("the database is away")
	}
	return b.term, nil
}

func (b *board) Beat(ctx context.Context, _ int) (store.Standing, error) {
	t, err := b.Look(ctx)
	return store.Standing{Term: t}, err
}

func (b *board) Leave(context.Context) error { return nil }

var key = []byte("0123456789abcdef")

// testMember is a member with its two listeners, for clients and for the other members.
type testMember struct {
	*Member
	public, peers *httptest.Server
	turn          chan http.Handler // a handler makes the member the leader; nil ends its term
}

func newTestMember(t *testing.T, b *board, id string, set ...func(*Config)) *testMember {
	t.Helper()
	o := &testMember{turn: make(chan http.Handler)}
	c := Config{ID: id, Key: key, Registry: b, Log: slog.New(slog.DiscardHandler), UplinkPath: "/uplink",
		Lead: func(ctx context.Context, serve Serve) error {
			stop := func() {}
			for {
				select {
				case h := <-o.turn:
					stop()
					if stop = func() {}; h != nil {
						stop = serve(h, func() {})
					}
				case <-ctx.Done():
					stop()
					return nil
				}
			}
		},
		Repeatable: func(*http.Request) bool { return false },
		Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, string(svc.CodeOf(err)), http.StatusServiceUnavailable)
		},
	}
	for _, change := range set {
		change(&c)
	}
	o.Member = New(c)
	o.public, o.peers = httptest.NewServer(o), httptest.NewServer(o.Peers())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		o.public.CloseClientConnections()
		o.public.Close()
		o.peers.CloseClientConnections()
		o.peers.Close()
		o.Close()
	})
	return o
}

// lead makes a member the leader.
func (b *board) lead(o *testMember, epoch int64, h http.Handler) {
	o.turn <- h
	b.set(func(b *board) {
		b.term = store.Term{Epoch: epoch, Replica: o.ID, Address: strings.TrimPrefix(o.peers.URL, "http://"), Renewed: epoch}
	})
}

// ask sends a request and returns the response as "status body".
func (o *testMember) ask(t *testing.T, method, body string, header ...string) string {
	t.Helper()
	return o.askFor(t, method, "/x?q=%zz;1", body, header...)
}

func (o *testMember) askFor(t *testing.T, method, path, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, o.public.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(text)))
}

func respondWith(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestARequestArrivesAtTheLeaderAsItCame(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	var seen *http.Request
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Clone(context.Background())
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	got := follower.ask(t, http.MethodPost, "hello", "X-Forwarded-Proto", "https", headerAddr, "1.2.3.4:5", headerTLS, tlsVerified, headerFrom, "c")
	if got != "200 hello" {
		t.Fatalf("answered %q", got)
	}
	if seen.Host != strings.TrimPrefix(follower.public.URL, "http://") || seen.URL.RawQuery != "q=%zz;1" || seen.Header.Get("X-Forwarded-Proto") != "https" {
		t.Errorf("it came as %s %s %v", seen.Host, seen.URL, seen.Header)
	}
	if !strings.HasPrefix(seen.RemoteAddr, "127.0.0.1:") || seen.TLS != nil {
		t.Errorf("the client could say where it comes from: %s, TLS %v", seen.RemoteAddr, seen.TLS)
	}
	for name := range seen.Header {
		if strings.HasPrefix(name, headerPrefix) {
			t.Errorf("the leader's handler sees %s", name)
		}
	}
}

func TestTheListenerForOrchestratorsAnswersNobodyElse(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader := newTestMember(t, b, "a")
	b.lead(leader, 1, respondWith("secret"))
	for name, sent := range map[string]string{"none": "", "of another pair": proof(key, "b", "c"), "of another key": proof([]byte("another"), "b", "a")} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, leader.peers.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(headerFrom, "b")
		r.Header.Set(headerProof, sent)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Errorf("proof %s: it is open", name)
		}
	}
}

func TestARequestWaitsForALeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	first, second := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	answers := make(chan string, 2)
	for _, o := range []*testMember{first, second} {
		go func() { answers <- o.ask(t, http.MethodPost, "body") }()
	}
	b.lead(second, 1, respondWith("hello"))
	for range 2 {
		if got := <-answers; got != "200 hello" {
			t.Errorf("answered %q", got)
		}
	}
}

// neverRespond returns a leader's handler that never responds. It sends the body of each request to arrived.
func neverRespond(arrived chan<- string) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
		<-r.Context().Done()
	})
}

func TestWhatMayBeRepeatedIsAnsweredByTheNextLeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	first, second, third := newTestMember(t, b, "a"), newTestMember(t, b, "b"), newTestMember(t, b, "c")
	arrived := make(chan string, 8)
	b.lead(first, 1, neverRespond(arrived))
	answers := map[string]chan string{}
	for name, ask := range map[string]func() string{
		"GET":               func() string { return third.ask(t, http.MethodGet, "") },
		"POST with a key":   func() string { return third.ask(t, http.MethodPost, "body", headerIdempotency, "k") },
		"POST without one":  func() string { return third.ask(t, http.MethodPost, "body") },
		"PATCH without one": func() string { return third.ask(t, http.MethodPatch, "body") },
	} {
		answers[name] = make(chan string, 1)
		go func() { answers[name] <- ask() }()
		<-arrived
	}
	b.lead(second, 2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "second "+string(body))
	}))
	for name, want := range map[string]string{"GET": "200 second", "POST with a key": "200 second body",
		"POST without one": "503 outcome_unknown", "PATCH without one": "503 outcome_unknown"} {
		if got := <-answers[name]; got != want {
			t.Errorf("%s was answered with %q, want %q", name, got, want)
		}
	}
}

// A leader that is about to serve, or has just stopped, refuses requests before it does anything. Every refused request
// is sent again, also one that is not repeatable.
func TestWhatWasRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	b := &board{}
	refused := make(chan struct{})
	tell := sync.OnceFunc(func() { close(refused) })
	leader, follower := newTestMember(t, b, "a", func(c *Config) {
		c.Refuse = func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusServiceUnavailable)
			tell()
		}
	}), newTestMember(t, b, "b")
	b.lead(leader, 1, nil)
	answer := make(chan string, 1)
	go func() { answer <- follower.ask(t, http.MethodPost, "body") }()
	<-refused
	leader.turn <- http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	if got := <-answer; got != "200 body" {
		t.Errorf("a POST without a key was answered with %q", got)
	}
}

// A readiness check through a load balancer reaches any orchestrator. So each one must respond with the state that it
// can determine.
func TestOneThatStandsByTellsItsOwnState(t *testing.T) {
	t.Parallel()
	b := &board{}
	standby := func(c *Config) {
		c.Standby, c.Records = respondWith("ready, with warnings"), func(*http.Request) bool { return false }
	}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b", standby)
	if got := follower.askFor(t, http.MethodGet, "/readyz", ""); got != `200 {"status":"ready"}` {
		t.Errorf("while nobody leads it answers %q", got)
	}
	b.lead(leader, 1, respondWith("the leader's"))
	waittest.Eventually(t, "it answers by itself", func() bool {
		return follower.askFor(t, http.MethodGet, "/readyz", "") == "200 ready, with warnings"
	})
}

func TestAStreamEndsWithTheTermOfItsLeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	first, second, third := newTestMember(t, b, "a"), newTestMember(t, b, "b"), newTestMember(t, b, "c")
	b.lead(first, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, third.public.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	begun := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, begun); err != nil {
		t.Fatal(err)
	}
	b.lead(second, 2, respondWith("next"))
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ended as if it were whole, with %q", rest)
	}
}

func TestALeaderThatLivesAndCannotBeReachedIsSaidSo(t *testing.T) {
	t.Parallel()
	b := &board{term: store.Term{Epoch: 1, Replica: "gone", Address: "127.0.0.1:1", Renewed: 1}}
	follower := newTestMember(t, b, "b")
	renewing, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for renewing.Err() == nil {
			b.set(func(b *board) { b.term.Renewed++ })
			select {
			case <-renewing.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	if got := follower.ask(t, http.MethodPost, "body"); got != "503 replica_unreachable" {
		t.Errorf("answered %q", got)
	}
}

// newFollower returns a follower that has forwarded a request to a leader, which responded with "hello".
func newFollower(t *testing.T) (*board, *testMember) {
	t.Helper()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	b.lead(leader, 1, respondWith("hello"))
	if got := follower.ask(t, http.MethodGet, ""); got != "200 hello" {
		t.Fatalf("answered %q", got)
	}
	return b, follower
}

func TestWithoutTheDatabaseNothingIsAnswered(t *testing.T) {
	t.Parallel()
	b, follower := newFollower(t)
	b.set(func(b *board) { b.down = true })
	for follower.ready() == nil {
		select {
		case <-t.Context().Done():
			t.Fatal("it is ready")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if got := follower.ask(t, http.MethodGet, ""); got != "503 unavailable" {
		t.Errorf("answered %q", got)
	}
}

// A member that is about to end still forwards short requests to the leader. Its streams have ended before.
func TestOneThatLeavesStillForwardsShortRequests(t *testing.T) {
	t.Parallel()
	_, follower := newFollower(t)
	follower.leave()
	if got := follower.ask(t, http.MethodPost, "body"); got != "200 hello" {
		t.Errorf("answered %q", got)
	}
}

// TestEachTellsOfItself checks that a leader and a follower each return their own metrics and figures.
func TestEachTellsOfItself(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader := newTestMember(t, b, "a")
	follower := newTestMember(t, b, "b", func(c *Config) {
		c.Standby, c.Records = respondWith("its own figures"), func(*http.Request) bool { return false }
	})
	b.lead(leader, 7, respondWith("the leader's"))
	if got := follower.ask(t, http.MethodPost, "body"); got != "200 the leader's" {
		t.Fatal(got)
	}
	if got := follower.askFor(t, http.MethodGet, "/metrics", ""); got != "200 its own figures" {
		t.Errorf("a member that stands by answers %s", got)
	}
	if got := leader.askFor(t, http.MethodGet, "/metrics", ""); got != "200 the leader's" {
		t.Errorf("the leader answers %s", got)
	}
	if f := follower.Figures(); f.Leads || !f.Reachable || f.Term != 7 || f.Forwarded != 1 || f.Failed != 0 || f.Silent > time.Minute {
		t.Errorf("the follower tells %+v", f)
	}
	if f := leader.Figures(); !f.Leads || !f.Reachable || f.Forwarded != 0 {
		t.Errorf("the leader tells %+v", f)
	}
	leader.peers.CloseClientConnections()
	leader.peers.Close()
	b.set(func(b *board) { b.term.Renewed += 2000 })
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", nil)
		follower.ServeHTTP(httptest.NewRecorder(), r)
	}()
	waittest.Eventually(t, "it does not reach the leader", func() bool { return !follower.Figures().Reachable })
	cancel()
	<-gone
}

// TestWhatStrangersSendIsNotAllKept sends many long bodies to a follower. It must buffer only some of them, because the
// clients are not authenticated.
func TestWhatStrangersSendIsNotAllKept(t *testing.T) {
	t.Parallel()
	m := New(Config{ID: "a", Log: slog.New(slog.DiscardHandler)})
	most, kept := keptBytes/repeatBytes, 0
	for range 2 * most {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", strings.NewReader(strings.Repeat("x", repeatBytes)))
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, &onceBody{Reader: r.Body}))
		release, err := m.forward.keepBody(r)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if r.GetBody != nil {
			kept++
		}
	}
	if kept != most {
		t.Errorf("%d bodies are kept, want %d", kept, most)
	}
}
