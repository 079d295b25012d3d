package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/wire"
)

// link is one open connection to the orchestrator.
type link struct {
	conn  wire.Conn
	ctx   context.Context // ends with the connection
	tasks *sync.WaitGroup // the goroutines that it starts
	out   *outbox
	caps  []string // the capabilities of both sides

	registered wire.Registered // as which host; the challenge is used
	acked      chan struct{}   // holds one token after a heartbeat_ack
	beatNow    func()          // sends a heartbeat at once; may be called when greeted is set
	// greeted is set when the first heartbeat was queued, so that reports may follow it.
	greeted atomic.Bool
	// beats counts the queued heartbeats, answered the acknowledged ones. Acknowledgements arrive in order.
	beats, answered atomic.Int64
	attached        atomic.Int32 // terminals that are relayed
	pulse           pulse

	mu      sync.Mutex // guards what follows
	refused map[key]string
}

func newLink(conn wire.Conn, caps []string) *link {
	return &link{conn: conn, out: newOutbox(), caps: caps, acked: make(chan struct{}, 1), refused: map[key]string{}}
}

// can reports whether the peer has a capability. Frames that need one are sent only then.
func (l *link) can(capability string) bool { return slices.Contains(l.caps, capability) }

// refuse stores why a dispatch was refused on this connection.
func (l *link) refuse(k key, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[k] = why
}

// refusal returns why an attempt was refused on this connection; empty: it was not. The orchestrator may have
// repeated the dispatch before it read the refusal, and may have given the attempt to another host since.
func (l *link) refusal(k key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[k]
}

// window returns how many bytes of a run's log may be unacknowledged.
func (l *link) window() int64 {
	switch {
	case l.out.typing():
		return windowTyping
	case l.attached.Load() > 0:
		return windowAttached
	default:
		return windowAlone
	}
}

// errSilent means that the connection is open but the orchestrator does not answer heartbeats on it.
var errSilent = errors.New("heartbeats are not answered")

// minSilence keeps a short heartbeat interval from cutting a slow but healthy
// connection.
const minSilence = 10 * time.Second

// keepConnected opens one connection after the other until ctx ends.
func (w *Worker) keepConnected(ctx context.Context) {
	wait := &backoff{random: w.opts.Random}
	for ctx.Err() == nil {
		lived, err := w.connection(ctx)
		if ctx.Err() != nil {
			return
		}
		if lived {
			wait.reset()
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.pause(wait, lived, err)):
		}
	}
}

// pause returns how long to wait after a connection ended, and logs why it ended. When the orchestrator ended
// the connection with a goaway, its wait is used, and it is no failure; unless the connection had no
// acknowledged heartbeat yet: then it is treated like one that could not be opened. It is no failure either when
// the orchestrator is crowded and tells when it is this worker's turn.
func (w *Worker) pause(wait *backoff, lived bool, err error) time.Duration {
	var away *goawayError
	if errors.As(err, &away) && lived {
		w.log.Info("the orchestrator ended the uplink", "reason", away.reason, "retry_in", away.after)
		return away.after
	}
	var r *refused
	if errors.As(err, &r) && r.retryIn > 0 {
		pause := wait.turn(r.retryIn)
		w.log.Info("many workers connect, this one has its turn later", "retry_in", pause)
		return pause
	}
	pause := wait.next()
	if hint := whatToDo(err, w.opts.Config.Worker.HostName); hint != "" {
		pause = max(pause, wait.slow())
		w.log.Error("the orchestrator refuses this worker", "error", err, "what_to_do", hint, "retry_in", pause)
	} else {
		w.log.Warn("no uplink", "error", err, "retry_in", pause)
	}
	return pause
}

// connection opens the uplink and serves it until it ends. lived reports whether a heartbeat was
// acknowledged.
func (w *Worker) connection(ctx context.Context) (lived bool, err error) {
	conn, registered, err := w.dial(ctx)
	if err != nil {
		return false, err
	}
	w.log.Info("uplink open", "host_id", registered.HostID, "status", registered.Status, "capabilities", registered.Capabilities)
	l := newLink(conn, registered.Capabilities)
	outer, stop := context.WithCancel(context.WithoutCancel(ctx)) // it outlives ctx until the goodbye frame is sent
	defer stop()
	group, served := errgroup.WithContext(outer)
	defer context.AfterFunc(ctx, func() {
		l.sayGoodbye(served)
		stop()
	})()
	l.ctx, l.tasks, l.registered = served, &w.tasks, registered
	w.setLink(l)
	group.Go(func() error { return l.out.write(served, conn) })
	group.Go(func() error { return w.read(served, l) })
	group.Go(func() error {
		live, err := w.greet(served, l, registered.HostID)
		lived = live
		return err
	})
	group.Go(func() error {
		<-served.Done()
		return conn.Close("going away")
	})
	err = group.Wait()
	w.setLink(nil)
	w.detachAll(l)
	return lived, err
}

// goodbyeWithin is how long an ending worker waits until its last frame is written.
const goodbyeWithin = time.Second

// sayGoodbye sends the goodbye frame: the worker ends in order, so the orchestrator need not wait for missing
// heartbeats.
func (l *link) sayGoodbye(ctx context.Context) {
	if !l.can(wire.CapGoodbye) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeWithin)
	defer cancel()
	left := make(chan struct{})
	l.out.push(laneControl, wire.Goodbye{Reason: "the worker was told to end"}, func() { close(left) })
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// greet replays the spool and then sends heartbeats, the first of which has the inventory. The order is the
// contract: a new run is given to this worker only after its first heartbeat, when everything older was
// reported.
func (w *Worker) greet(ctx context.Context, l *link, hostID string) (lived bool, err error) {
	if err := w.spool.replay(ctx); err != nil {
		return false, fmt.Errorf("replay the spool: %w", err)
	}
	l.beatNow = func() {
		l.beats.Add(1)
		l.out.push(laneControl, w.heartbeat(l, hostID), nil)
	}
	return l.beat(ctx, w.opts.Config.Worker.HeartbeatInterval, func() {
		l.beatNow()
		if l.greeted.CompareAndSwap(false, true) {
			w.reportProviders(l)
			w.reportOrphans(l)
			w.reportHints(l)
		}
	})
}

// beat sends a heartbeat at once and then in intervals. It returns errSilent when none was acknowledged for two
// intervals, at least for minSilence: TCP alone may need many minutes to detect a dead peer.
func (l *link) beat(ctx context.Context, interval time.Duration, send func()) (lived bool, err error) {
	bound := max(2*interval, minSilence)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	silence := time.NewTimer(bound)
	defer silence.Stop()
	send()
	for {
		select {
		case <-ctx.Done():
			return lived, ctx.Err()
		case <-tick.C:
			send()
		case <-l.acked:
			lived = true
			silence.Reset(bound)
		case <-silence.C:
			return lived, errSilent
		}
	}
}

func (w *Worker) heartbeat(l *link, hostID string) *wire.Heartbeat {
	beat := &wire.Heartbeat{HostID: hostID, InstanceID: w.instanceID, Timestamp: svc.TimeOf(w.opts.Now()),
		Refusing: w.heartbeatRefusal(), CatalogError: w.registry.Problem(), DiskFreeBytes: w.diskFree()}
	if l.can(wire.CapInventory) {
		held := w.inventory()
		beat.Runs = &held
	}
	return beat
}

// setLink sets the connection on which sessions send; nil: there is none.
func (w *Worker) setLink(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.link = l
}

// uplink returns the open connection, or nil.
func (w *Worker) uplink() *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link
}
