package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/coder/websocket"

	"svc/internal/waittest"
)

// message returns a frame with size bytes as a server sends it.
func message(size int) []byte {
	head := []byte{0x82}
	switch {
	case size < 126:
		head = append(head, byte(size))
	case size < 1<<16:
		head = append(head, 126, byte(size>>8), byte(size))
	default:
		head = append(head, 127, 0, 0, 0, 0, byte(size>>24), byte(size>>16), byte(size>>8), byte(size))
	}
	return append(head, bytes.Repeat([]byte{0x88}, size)...)
}

func TestASocketThatBreaksOffEndsWithAWord(t *testing.T) {
	t.Parallel()
	word := closeFrame(websocket.StatusServiceRestart, lastWord)
	own := closeFrame(websocket.StatusNormalClosure, "over")
	broken := errors.New("broken")
	whole := bytes.Join([][]byte{message(0), message(125), message(126), message(70_000), message(3)}, nil)
	for name, c := range map[string]struct{ sent, want []byte }{
		"at once":          {nil, word},
		"between frames":   {whole, append(bytes.Clone(whole), word...)},
		"in a frame":       {whole[:len(whole)-1], whole[:len(whole)-1]},
		"in a head":        {append(bytes.Clone(whole), 0x82), append(bytes.Clone(whole), 0x82)},
		"after its own":    {append(bytes.Clone(whole), own...), append(bytes.Clone(whole), own...)},
		"in a long length": {append(bytes.Clone(whole), 0x82, 127, 0), append(bytes.Clone(whole), 0x82, 127, 0)},
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{"in pieces": iotest.OneByteReader, "at a time": func(r io.Reader) io.Reader { return r }, "with its error": iotest.DataErrReader} {
			got, err := io.ReadAll(&spoken{Reader: wrap(io.MultiReader(bytes.NewReader(c.sent), iotest.ErrReader(broken)))})
			if !bytes.Equal(got, c.want) || !errors.Is(err, broken) {
				t.Errorf("%s, %s: %d bytes and %v, want %d", name, how, len(got), err, len(c.want))
			}
		}
	}
}

func TestAnUplinkCountsWhereItIsOpenUntilItIsClosed(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	accepted := make(chan *websocket.Conn, 2)
	b.lead(leader, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- conn // the request ends, the connection stays open
	}))
	for _, o := range []*testMember{leader, follower} {
		conn, _, err := websocket.Dial(t.Context(), o.public.URL+"/uplink", nil)
		if err != nil {
			t.Fatal(err)
		}
		far := <-accepted
		if n := o.uplinks.Load(); n != 1 {
			t.Errorf("%s counts %d uplinks", o.ID, n)
		}
		_ = far.CloseNow()
		if _, _, err := conn.Read(t.Context()); err == nil {
			t.Error("it goes on")
		}
		_ = conn.CloseNow()
		waittest.Eventually(t, o.ID+" counts no uplink any more", func() bool { return o.uplinks.Load() == 0 })
	}
}

// hijackable is a response writer whose connection can be hijacked.
type hijackable struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, nil, nil }

// An orchestrator has thousands of uplinks. The requests that opened them have ended, and their memory must be
// released.
func TestAnUplinkKeepsNothingOfItsRequest(t *testing.T) {
	t.Parallel()
	end, _ := net.Pipe()
	collected := make(chan struct{})
	uplink, _, err := func() (net.Conn, *bufio.ReadWriter, error) {
		w := &hijackable{httptest.NewRecorder(), end}
		runtime.AddCleanup(w, func(c chan struct{}) { close(c) }, collected)
		return (&counted{w, &atomic.Int64{}}).Hijack()
	}()
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, "what the server had of the request is collected", func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	})
	_ = uplink.Close()
}

func TestOneThatCannotServeTurnsItsClientsAway(t *testing.T) {
	t.Parallel()
	b := &board{}
	leader, follower := newTestMember(t, b, "a"), newTestMember(t, b, "b")
	b.lead(leader, 1, respondWith("hello"))
	if closesConnection(t, follower) {
		t.Error("it turns clients away although it serves")
	}
	b.set(func(b *board) { b.down = true })
	for _, o := range []*testMember{leader, follower} {
		waittest.Eventually(t, o.ID+" turns its clients away without the database", func() bool { return closesConnection(t, o) })
	}
}

// closesConnection reports whether a member closes the connection after a response.
func closesConnection(t *testing.T, o *testMember) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.public.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Close
}
