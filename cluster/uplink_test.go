package cluster

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"
)

// uplinks accepts sockets of workers and gives the leader's end of each.
func uplinks(t *testing.T, accepted chan<- *websocket.Conn) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
	})
}

// dial connects a worker through a member. Both ends are closed with the test.
func (o *one) dial(t *testing.T, accepted <-chan *websocket.Conn) (worker, far *websocket.Conn) {
	t.Helper()
	worker, _, err := websocket.Dial(t.Context(), o.public.URL+"/uplink", nil)
	if err != nil {
		t.Fatal(err)
	}
	far = <-accepted
	t.Cleanup(func() { _, _ = worker.CloseNow(), far.CloseNow() })
	return worker, far
}

// A leader that drains tells its workers to come back, those behind a follower too, before the way to it ends.
func TestAWorkerBehindAFollowerIsSentAwayByItsLeader(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newOne(t, b, "a"), newOne(t, b, "b")
	accepted := make(chan *websocket.Conn, 1)
	b.lead(leader, 1, uplinks(t, accepted))
	worker, far := follower.dial(t, accepted)
	const goaway = `{"type":"goaway","after_ms":1000}`
	if err := far.Write(t.Context(), websocket.MessageText, []byte(goaway)); err != nil {
		t.Fatal(err)
	}
	if _, text, err := worker.Read(t.Context()); err != nil || string(text) != goaway {
		t.Errorf("the worker read %q: %v", text, err)
	}
	leader.turn <- nil // its turn is over
	b.set(func(b *board) { b.term.Epoch, b.term.Replica = 2, "" })
	if _, _, err := worker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("then %v, want a close with %d", err, websocket.StatusServiceRestart)
	}
}

// When another one has taken the lead, the old leader may be frozen and say nothing: whoever carries the worker's connection ends it.
func TestAWorkerBehindAFollowerComesBackWhenTheTermEnds(t *testing.T) {
	t.Parallel()
	b := &board{}
	first, second, follower := newOne(t, b, "a"), newOne(t, b, "b"), newOne(t, b, "c")
	before, after := make(chan *websocket.Conn, 1), make(chan *websocket.Conn, 1)
	b.lead(first, 1, uplinks(t, before))
	worker, _ := follower.dial(t, before)
	b.lead(second, 2, uplinks(t, after))
	if _, _, err := worker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the connection ended with %v, want a close with %d", err, websocket.StatusServiceRestart)
	}
	worker, far := follower.dial(t, after) // at once, through the same one
	if err := far.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := worker.Read(t.Context()); err != nil || string(text) != "hello" {
		t.Errorf("the next leader's word is %q: %v", text, err)
	}
}
