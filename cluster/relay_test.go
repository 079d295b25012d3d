package cluster

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc/internal/waittest"
)

// ways are the ways in which uplinks are relayed: by relayLoop, if the system has one, and by goroutines, which relay the
// uplinks of workers with TLS.
var ways = map[string]struct {
	wrap func(net.Conn) net.Conn
	idle idleRule
}{
	"sockets":      {asItIs, usualIdle},
	"idle sockets": {asItIs, idleRule{above: -1}}, // each is idle until data for it is pending
	"others":       {func(c net.Conn) net.Conn { return struct{ *net.TCPConn }{c.(*net.TCPConn)} }, usualIdle},
}

func asItIs(c net.Conn) net.Conn { return c }

// onAllWays runs a test with all ways of relaying. The relay ends with the test.
func onAllWays(t *testing.T, test func(t *testing.T, b *bridge)) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bridge{relay: &relay{idle: way.idle}, wrap: way.wrap}
			t.Cleanup(func() {
				b.end()
				b.wait()
				if n := b.open.Load(); n != 0 {
					t.Errorf("%d uplinks count after all is closed", n)
				}
			})
			test(t, b)
		})
	}
}

// bridge is a relay whose uplinks a test counts.
type bridge struct {
	*relay
	wrap func(net.Conn) net.Conn
	open atomic.Int64
}

// uplink adds an uplink and returns the connections of its worker and its leader.
func (b *bridge) uplink(t *testing.T) (worker, leader *net.TCPConn) {
	t.Helper()
	worker, near := sockets(t)
	leader, up := sockets(t)
	b.open.Add(1)
	b.add(&uplink{worker: &countedConn{b.wrap(near), sync.OnceFunc(func() { b.open.Add(-1) })}, leader: up})
	return worker, leader
}

// sockets returns both ends of a TCP connection. The first one is closed at the end of the test.
func sockets(t *testing.T) (ours, theirs *net.TCPConn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialed.Close() })
	limit := time.Now().Add(waittest.Patience)
	if err := errors.Join(dialed.SetDeadline(limit)); err != nil {
		t.Fatal(err)
	}
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

func write(t *testing.T, conn io.Writer, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Error(err)
	}
}

// wantAll reads a connection to its end and compares what it read with want.
func wantAll(t *testing.T, who string, conn io.Reader, want []byte) {
	t.Helper()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s read %d bytes and %v, want %d; the last are %q, want %q", who, len(got), err, len(want), tail(got), tail(want))
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-20):] }

var restartFrame = closeFrame(websocket.StatusServiceRestart, lastWord)

func TestWhatIsRelayedArrivesByteForByte(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		var all sync.WaitGroup
		for n := range uint64(12) {
			random := rand.New(rand.NewPCG(7, n))
			up, down := someFrames(random, 300), someFrames(random, 300)
			worker, leader := b.uplink(t)
			var sent sync.WaitGroup
			sent.Go(func() { inPieces(t, rand.NewPCG(1, n), worker, up) })
			all.Go(func() { inPieces(t, rand.NewPCG(2, n), leader, down) })
			all.Go(func() {
				got := make([]byte, len(down))
				if _, err := io.ReadFull(unsteady{worker, rand.New(rand.NewPCG(3, n))}, got); err != nil || !bytes.Equal(got, down) {
					t.Errorf("a worker read other bytes: %v", err)
				}
				sent.Wait()
				_ = worker.Close()
			})
			all.Go(func() { wantAll(t, "the leader", unsteady{leader, rand.New(rand.NewPCG(4, n))}, up) })
		}
		all.Wait()
	})
}

// someFrames returns n frames of random sizes, at most 32 kB each.
func someFrames(random *rand.Rand, n int) (all []byte) {
	for range n {
		all = append(all, message(random.IntN(1<<random.IntN(16)+1))...)
	}
	return all
}

// inPieces writes in pieces of random sizes.
func inPieces(t *testing.T, seed rand.Source, conn io.Writer, b []byte) {
	random := rand.New(seed)
	for len(b) > 0 {
		n := min(len(b), 1+random.IntN(1<<random.IntN(18)))
		write(t, conn, b[:n])
		b = b[n:]
	}
}

// unsteady reads a random number of bytes at a time.
type unsteady struct {
	io.Reader
	random *rand.Rand
}

func (u unsteady) Read(p []byte) (int, error) {
	return u.Reader.Read(p[:min(len(p), 1+u.random.IntN(1<<u.random.IntN(16)))])
}

func TestARelayedUplinkEndsWithEitherSide(t *testing.T) {
	own := append(message(5), closeFrame(websocket.StatusNormalClosure, "over")...)
	for name, c := range map[string]struct {
		sent, want []byte // by the leader, to the worker
		end        func(leader *net.TCPConn) error
	}{
		"between frames": {message(5), append(message(5), restartFrame...), (*net.TCPConn).Close},
		"half-closed":    {message(5), append(message(5), restartFrame...), (*net.TCPConn).CloseWrite},
		"within a frame": {message(5)[:4], message(5)[:4], (*net.TCPConn).Close},
		"with a word":    {own, own, (*net.TCPConn).Close},
		"reset": {nil, restartFrame, func(leader *net.TCPConn) error {
			return errors.Join(leader.SetLinger(0), leader.Close())
		}},
	} {
		t.Run("the leader's, "+name, func(t *testing.T) {
			onAllWays(t, func(t *testing.T, b *bridge) {
				worker, leader := b.uplink(t)
				write(t, leader, c.sent)
				if err := c.end(leader); err != nil {
					t.Fatal(err)
				}
				wantAll(t, "the worker", worker, c.want)
				_ = worker.Close()
				waittest.Eventually(t, "it does not count any more", func() bool { return b.open.Load() == 0 })
			})
		})
	}
	for name, end := range map[string]func(worker *net.TCPConn) error{"closed": (*net.TCPConn).Close, "half-closed": (*net.TCPConn).CloseWrite} {
		t.Run("the worker's, "+name, func(t *testing.T) {
			onAllWays(t, func(t *testing.T, b *bridge) {
				worker, leader := b.uplink(t)
				write(t, worker, message(300))
				if err := end(worker); err != nil {
					t.Fatal(err)
				}
				wantAll(t, "the leader", leader, message(300))
				_ = leader.Close()
				waittest.Eventually(t, "it does not count any more", func() bool { return b.open.Load() == 0 })
			})
		})
	}
}

// The peer of a connection that ends may be sending. It must still be able to read everything that was sent to it before,
// although the relay does not forward what it sends any more.
func TestTheEndOfAnUplinkReachesAPeerThatIsSending(t *testing.T) {
	for name, workerEnds := range map[string]bool{"the leader ends it": false, "the worker ends it": true} {
		t.Run(name, func(t *testing.T) {
			onAllWays(t, func(t *testing.T, b *bridge) {
				sender, ending := b.uplink(t)
				want := append(message(300), restartFrame...)
				if workerEnds {
					sender, ending, want = ending, sender, message(300)
				}
				write(t, sender, message(100_000)) // the relay has data of the sender when the other side ends
				var sending sync.WaitGroup
				sending.Go(func() {
					for err := error(nil); err == nil; {
						_, err = sender.Write(message(100_000))
					}
				})
				write(t, ending, message(300))
				_ = ending.Close()
				wantAll(t, "the sender", sender, want)
				_ = sender.Close()
				sending.Wait()
				waittest.Eventually(t, "it does not count any more", func() bool { return b.open.Load() == 0 })
			})
		})
	}
}

// A peer that does not close its side of an ended uplink must not hold the connection for ever.
func TestAnEndedUplinkIsClosedAlsoIfThePeerDoesNotCloseIt(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		worker, leader := b.uplink(t)
		_ = leader.Close()
		wantAll(t, "the worker", worker, restartFrame)
		waittest.Eventually(t, "it does not count any more", func() bool { return b.open.Load() == 0 })
	})
}

// A peer that never reads must not hold the data that waits for it for ever.
func TestAPeerThatNeverReadsIsDisconnected(t *testing.T) {
	for name, leaderReads := range map[string]bool{"the worker": true, "the leader": false} {
		t.Run(name, func(t *testing.T) {
			onAllWays(t, func(t *testing.T, b *bridge) {
				b.stuck = time.Second
				worker, leader := b.uplink(t)
				if leaderReads {
					fill(t, leader)
				} else {
					fill(t, worker)
				}
				waittest.Eventually(t, "it does not count any more", func() bool { return b.open.Load() == 0 })
			})
		})
	}
}

// fill writes until the relay accepts no more, and returns what it accepted.
func fill(t *testing.T, leader *net.TCPConn) (taken []byte) {
	t.Helper()
	if err := errors.Join(leader.SetReadBuffer(4<<10), leader.SetWriteBuffer(4<<10)); err != nil {
		t.Fatal(err)
	}
	frame := message(100_000)
	for {
		if err := leader.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := leader.Write(frame)
		taken = append(taken, frame[:n]...)
		if err != nil {
			return taken
		}
		if len(taken) > 64<<20 {
			t.Fatal("a worker that does not read is sent 64 MB")
		}
	}
}

func TestAWorkerThatDoesNotReadHoldsUpNobody(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		slow, toSlow := b.uplink(t)
		quick, toQuick := b.uplink(t)
		taken := fill(t, toSlow)
		for range 100 { // the slow worker can still send
			for _, c := range [][2]*net.TCPConn{{quick, toQuick}, {toQuick, quick}, {slow, toSlow}} {
				write(t, c[0], message(40))
				got := make([]byte, len(message(40)))
				if _, err := io.ReadFull(c[1], got); err != nil || !bytes.Equal(got, message(40)) {
					t.Fatalf("read %q: %v", got, err)
				}
			}
		}
		_ = toSlow.Close() // everything that the relay accepted still arrives
		got, err := io.ReadAll(slow)
		if err != nil || len(got) < len(taken) || !bytes.Equal(got[:len(taken)], taken) {
			t.Errorf("a slow worker read %d bytes, want at least %d: %v", len(got), len(taken), err)
		}
	})
}

func TestTheEndOfARelayEndsAllWithAWord(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		var workers []*net.TCPConn
		for range 10 {
			worker, leader := b.uplink(t)
			write(t, leader, message(200))
			got := make([]byte, len(message(200)))
			if _, err := io.ReadFull(worker, got); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, worker)
		}
		b.end()
		late, _ := b.uplink(t)
		for _, w := range append(workers, late) {
			wantAll(t, "a worker", w, restartFrame)
			_ = w.Close()
		}
		b.wait()
	})
}

func TestAWorkerThatDoesNotReadDoesNotKeepARelayFromItsEnd(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		_, leader := b.uplink(t)
		fill(t, leader)
		began := time.Now()
		b.end()
		b.wait()
		if took := time.Since(began); took > 4*lastWordLimit {
			t.Errorf("the end took %v", took)
		}
	})
}

// Uplinks are opened while others are closed. An event of a closed uplink must not be applied to a new one with the same
// descriptor.
func TestUplinksComeAndGo(t *testing.T) {
	onAllWays(t, func(t *testing.T, b *bridge) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 40 {
					worker, leader := b.uplink(t)
					sent := message(i*100 + j)
					ends := []*net.TCPConn{worker, leader}
					if j%2 == 1 {
						slices.Reverse(ends)
					}
					write(t, ends[0], sent)
					got := make([]byte, len(sent))
					if _, err := io.ReadFull(ends[1], got); err != nil || !bytes.Equal(got, sent) {
						t.Errorf("uplink %d of %d read %q: %v", j, i, got, err)
					}
					_ = ends[j/2%2].Close()
					_, _ = io.ReadAll(ends[1-j/2%2]) // until the relay has ended the other side
					_ = ends[1-j/2%2].Close()
				}
			})
		}
		all.Wait()
		waittest.Eventually(t, "all are closed", func() bool { return b.open.Load() == 0 })
	})
}
