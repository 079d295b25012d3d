package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"svc"
	"svc/hub"
	"svc/wire"
)

// Hello is what a connection declares when it is opened. A plain peer declares nothing and is identified by its first
// heartbeat.
type Hello struct {
	HostID     string
	InstanceID string
	BootID     string
	OnlyHost   string // the token is valid for this host only; empty: any
	Generation int64  // of that token

	Key         string // the worker's public key; empty: it has none
	Challenge   string // the challenge that it signed
	Signature   string
	Containment string // how it runs sessions; empty: not declared
	Scopes      string
	// Capabilities that both sides support; nil: not declared, and those of the registration apply.
	Capabilities []string
	// Arrived is called when the first heartbeat was handled; nil: not called.
	Arrived func()

	admitted bool // set by Admit
	// host is the host's identity as it was when the connection was admitted; nil: it is not needed any more.
	host *svc.Host
}

// mostMalformed is how many malformed frames in a row end a connection.
const mostMalformed = 10

// closeGrace is how long a peer whose connection is being ended has to read the reason.
const closeGrace = time.Second

// errMalformed ends a connection whose peer sends too many malformed frames.
var errMalformed = errors.New("too many malformed frames")

// errEnded ends a connection that the orchestrator itself has ended.
var errEnded = errors.New("the connection was ended")

// ServeUplink serves a worker's connection until the connection or ctx ends. When ctx ends, a worker that supports it
// is sent a goaway frame with the time after which to reconnect.
func (e *Engine) ServeUplink(ctx context.Context, conn wire.Conn, hello Hello) error {
	c := &uplinkConn{e: e, conn: conn, link: hub.NewUplink(conn), hello: hello,
		changes: pipeline{most: mostChanges}, chunks: pipeline{most: mostChunks}}
	outer := ctx
	// The connection's context ends later than the caller's, so that a goaway can still be sent.
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
	defer cancel()
	c.stop = cancel
	defer context.AfterFunc(outer, func() { c.sendGoaway(ctx) })()
	c.enter(hello.OnlyHost)
	defer c.leaveBook()
	if conn, ok := conn.(interface {
		Gate(above int, pass func(context.Context) error)
	}); ok {
		conn.Gate(largeFrame, c.acquireLarge)
	}
	c.identifyTimer = time.AfterFunc(identifiedIn, func() { c.end(reasonUnidentified) })
	defer c.identifyTimer.Stop()
	sent := make(chan error, 1)
	go func() {
		defer cancel()
		sent <- c.link.Run(ctx)
	}()
	err := c.read(ctx) // in the caller's goroutine: most of thousands of connections are idle, and each stack costs memory
	c.link.Finish()
	last := time.AfterFunc(closeGrace, cancel)
	if sendErr := <-sent; err == nil || errors.Is(err, context.Canceled) {
		err = sendErr
	}
	last.Stop()
	c.gone()
	return err
}

// uplinkConn is one worker's connection while it is served.
type uplinkConn struct {
	e             *Engine
	conn          wire.Conn
	link          *hub.Uplink
	hello         Hello
	noted         bool     // what the worker declared is in the host's record
	malformed     int      // in a row
	changes       pipeline // of the database
	chunks        pipeline // of logs
	absent        absences
	identifyTimer *time.Timer // ends the connection if it is not identified in time
	stop          context.CancelFunc
	ended         atomic.Bool // ended by the orchestrator: further frames are ignored

	goaway atomic.Bool // the worker supports the goaway frame

	payer      *hostLinks // the limits that it shares with its host's other connections
	payerID    string
	crowded    bool // guarded by linkBook: it is being ended because of newer connections
	holdsLarge bool // a large frame is being handled
}

// finish waits until every frame that was read so far is processed.
func (c *uplinkConn) finish() {
	c.chunks.finish()
	c.changes.finish()
}

func (c *uplinkConn) read(ctx context.Context) error {
	defer c.finish()
	if c.hello.HostID != "" {
		if err := c.identify(ctx, c.hello.HostID, c.hello.InstanceID); err != nil {
			c.sendError(err)
			return err
		}
	}
	for {
		c.freeLarge()
		b, err := c.conn.Read(ctx)
		if err == nil && c.ended.Load() {
			err = errEnded
		}
		if err != nil {
			return err
		}
		f, err := wire.DecodeUp(b)
		if err == nil {
			c.malformed = 0
			err = c.handle(ctx, f)
		}
		if err != nil {
			c.finish() // errors are sent in the order of the frames
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var bad *wire.FrameError
		if errors.As(err, &bad) && bad.Code == wire.CodeMalformed {
			if c.malformed++; c.malformed >= mostMalformed {
				c.sendError(err)
				return errMalformed
			}
		}
		if err != nil {
			c.sendError(err)
		}
	}
}

// sendError sends an error for a frame that was not processed. Internal causes are only logged.
func (c *uplinkConn) sendError(err error) {
	f := wire.Error{Code: string(svc.CodeInternal), Message: "the frame could not be processed; try again"}
	var bad *wire.FrameError
	var known *svc.Error
	switch {
	case errors.As(err, &bad):
		f = wire.Error{Code: bad.Code, Message: bad.Message}
	case errors.As(err, &known):
		f = wire.Error{Code: string(known.Code), Message: known.Message}
	default:
		c.e.Log.Error("a frame could not be processed", "host_id", c.link.HostID, "error", err)
	}
	_ = c.link.Send(f)
}

// identify sets the host and instance of the connection. It is called once.
func (c *uplinkConn) identify(ctx context.Context, hostID, instanceID string) error {
	if c.hello.OnlyHost != "" && hostID != c.hello.OnlyHost {
		return svc.Errorf(svc.CodeHostNotFound, "this token is not valid for host %s", hostID)
	}
	if !svc.IsID(hostID) || !svc.IsID(instanceID) {
		return &wire.FrameError{Code: wire.CodeMalformed, Message: "host id and instance id must be UUIDs"}
	}
	if !c.hello.admitted { // it declared no host when it was opened
		c.hello.HostID, c.hello.InstanceID = hostID, instanceID
		if err := c.e.Admit(ctx, &c.hello); err != nil {
			return err
		}
	}
	c.identifyTimer.Stop()
	c.enter(hostID)
	caps := c.hello.Capabilities
	if caps == nil {
		caps = c.e.Hub.Uplinks.Announced(hostID, instanceID)
	}
	c.link.Identify(hostID, instanceID, c.hello.BootID, caps)
	c.goaway.Store(c.link.Has(wire.CapGoaway))
	defer c.e.linkChanged(hostID, "")
	defer c.e.hosts.identifying(hostID, c.e.watch.look)()
	nameless := c.hello.host.NamesBoot && c.hello.BootID == "" // its worker always sends its boot id
	if nameless || c.e.Hub.Uplinks.Contested(ctx, c.link) {
		c.e.Hub.Uplinks.AddForeign(c.link)
		return c.e.suspect(ctx, hostID, instanceID)
	}
	if c.e.Hub.Uplinks.Add(c.link) {
		return c.e.suspect(ctx, hostID, instanceID)
	}
	return nil
}

// gone removes a closed connection. The host's status depends on its heartbeats only.
func (c *uplinkConn) gone() {
	if !c.link.Identified() {
		return
	}
	c.leave("")
	c.e.typed.drop(c.link)
	c.e.asks.drop(c.link)
	if _, has := c.e.Hub.Uplinks.Of(c.link.HostID); has {
		c.e.Hub.Attach.HostBack(c.link.HostID) // another connection has its terminals now
	} else {
		c.e.Hub.Attach.HostGone(c.link.HostID)
	}
}

// leave removes the connection from the registry: nothing more is sent on it. reason is empty if the worker did not
// send a goodbye.
func (c *uplinkConn) leave(reason string) {
	c.e.Hub.Uplinks.Remove(c.link)
	c.e.linkChanged(c.link.HostID, reason)
}

func (c *uplinkConn) handle(ctx context.Context, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.LogChunk:
		size, shared := min(int64(len(f.Text)+len(f.Data)), chunksAtOnce), c.payer.chunks
		if err := shared.Acquire(ctx, size); err != nil {
			return err
		}
		c.chunks.start(func() {
			defer shared.Release(size)
			defer f.Release()
			if err := c.logChunk(ctx, f); err != nil && ctx.Err() == nil {
				c.sendError(err)
			}
		})
		return nil
	case *wire.LogEnd:
		c.chunks.start(func() {
			if err := c.logEnd(ctx, f); err != nil && ctx.Err() == nil {
				c.sendError(err)
			}
		})
		return nil
	case *wire.SignalFrame:
		c.chunks.finish() // the end of an attempt is not handled before its output
		return c.signal(ctx, f)
	case *wire.RunDispatchAck:
		if !c.link.Identified() {
			return errNotIdentified
		}
		if err := c.pace(ctx, f); err != nil {
			return err
		}
		c.awaitChange(ctx, c.e.acked(ctx, c.link, f))
		return nil
	case *wire.AttachData, *wire.AttachResized, *wire.AttachClosed:
		// Terminal data waits neither for commits nor for the disk.
		if c.link.Identified() {
			c.e.Hub.Attach.FromWorker(c.link.HostID, f)
		}
		return nil
	}
	c.finish() // the frames below see the effects of every frame before them
	if err := c.pace(ctx, f); err != nil {
		return err
	}
	switch f := f.(type) {
	case *wire.Heartbeat:
		return c.heartbeat(ctx, f)
	case *wire.Snapshot:
		if f.Final && c.link.Has(wire.CapFinal) {
			return c.finalScreen(ctx, f)
		}
		return c.screen(ctx, f)
	case *wire.KeysResult:
		c.e.typed.answer(c.link, f.RequestID, f)
		return nil
	case *wire.WorkspaceResult:
		c.e.asks.answer(c.link, f.RequestID, f)
		return nil
	case *wire.RunUnknown:
		c.unknownRuns(f.Runs)
		return nil
	case *wire.LogGone:
		if _, _, err := c.runOf(ctx, f.RunID, f.Attempt); err != nil {
			return err
		}
		c.e.logs.markGone(attemptKey{f.RunID, f.Attempt})
		return nil
	case *wire.ScreenGone:
		if _, _, err := c.runOf(ctx, f.RunID, f.Attempt); err != nil {
			return err
		}
		c.e.screens.markGone(attemptKey{f.RunID, f.Attempt})
		return nil
	case *wire.Providers:
		if !c.link.Identified() {
			return errNotIdentified
		}
		return c.e.reported(ctx, c.link.HostID, f)
	case *wire.Goodbye:
		if !c.link.Identified() {
			return errNotIdentified
		}
		c.leave(f.Reason)
		return nil
	case *wire.Orphan:
		if !c.link.Identified() {
			return errNotIdentified
		}
		return c.e.orphan(ctx, c.link.HostID, f)
	case *wire.RunHint:
		if _, _, err := c.runOf(ctx, f.RunID, f.Attempt); err != nil {
			return err
		}
		c.e.hints.put(f.RunID, f.Attempt, f.Hint)
		return nil
	default:
		return fmt.Errorf("no handler for a %s frame", f.Type())
	}
}

// sessionsAFrame is how many sessions of an inventory count as one frame in the rate limit: each unknown session
// costs a query.
const sessionsAFrame = 10

// pace limits the rate of the host's frames that cost a query or a write. A connection that exceeds it is not read
// until it is within its rate.
func (c *uplinkConn) pace(ctx context.Context, f wire.Frame) error {
	if !c.link.Identified() {
		return nil // such a frame is refused, or identifies the connection
	}
	speed, n := c.e.paces.frames, 1
	switch f := f.(type) {
	case *wire.Orphan, *wire.Providers:
		speed = c.e.paces.notices
	case *wire.Heartbeat:
		if f.Runs != nil {
			n += len(*f.Runs) / sessionsAFrame
		}
	}
	return speed.waitFor(ctx, c.link.HostID, n, c.e.paces.endless)
}

var errNotIdentified = &wire.FrameError{Code: "not_identified", Message: "a heartbeat must come before this frame"}

func (c *uplinkConn) heartbeat(ctx context.Context, f *wire.Heartbeat) error {
	if !c.link.Identified() {
		if err := c.identify(ctx, f.HostID, f.InstanceID); err != nil {
			return err
		}
	} else if f.HostID != c.link.HostID || f.InstanceID != c.link.InstanceID {
		return &wire.FrameError{Code: "identity_changed", Message: "this connection belongs to another host or instance"}
	}
	if err := c.e.beat(ctx, f.HostID, f.InstanceID); err != nil {
		return err
	}
	if err := c.noteWorker(ctx); err != nil {
		return err
	}
	c.e.hosts.clock(f.HostID, f.Timestamp, c.e.now())
	c.link.Refuses(f.Refusing != nil)
	if c.e.hosts.noteReport(f) && f.Refusing == nil {
		c.e.claims.up()
	}
	if err := c.e.noteDisk(ctx, f); err != nil {
		return err
	}
	if f.Runs != nil {
		c.inventory(ctx, *f.Runs)
	}
	_ = c.link.Send(c.heartbeatAck())
	if c.link.MarkReady() {
		if c.hello.Arrived != nil {
			c.hello.Arrived()
		}
		if own, ok := c.e.Hub.Uplinks.Of(c.link.HostID); ok && own == c.link {
			c.e.hostReady(c.link.HostID)
		}
	}
	return nil
}

// heartbeatAck contains the challenge for the next connection, if the worker can connect without a registration.
func (c *uplinkConn) heartbeatAck() wire.HeartbeatAck {
	ack := wire.HeartbeatAck{Timestamp: c.e.now()}
	if c.link.Has(wire.CapResume) {
		ack.Challenge = c.e.challenge(c.link.HostID, c.link.InstanceID)
	}
	return ack
}

func (c *uplinkConn) signal(ctx context.Context, f *wire.SignalFrame) error {
	s, err := f.Parse(f.RunID)
	if err != nil {
		return err
	}
	s.Via = "uplink"
	who := c.reporter()
	if err := c.e.paceSignal(ctx, who, &s, c.e.paces.endless); err != nil {
		return err
	}
	wait, err := c.e.report(ctx, who, s)
	if err != nil {
		return err
	}
	c.awaitChange(ctx, func() error {
		_, err := wait()
		return err
	})
	return nil
}

func (c *uplinkConn) logChunk(ctx context.Context, f *wire.LogChunk) error {
	r, attempt, err := c.runOf(ctx, f.RunID, f.Attempt)
	if err != nil {
		return err
	}
	kept, err := c.e.Hub.Relay.Append(r.HostOf(attempt), f.RunID, attempt, f.Offset, f.Raw(), f.Times...)
	if kept.Bytes > 0 { // a part may be in the log even after an error
		if err := c.e.countOutput(r, attempt, kept); err != nil {
			c.e.Log.Error("the relayed log of a run cannot be read; its output is journaled later", "run_id", r.ID, "error", err)
		}
	}
	if err != nil {
		return err
	}
	if f.Offset != nil && c.link.Has(wire.CapLogAck) {
		_ = c.link.Send(wire.LogAck{RunID: f.RunID, Attempt: attempt, Offset: kept.Offset, Complete: kept.Complete})
	}
	return nil
}

// logEnd stores the final length of an attempt's log. If the run does not exist or is not this host's, it
// acknowledges the frame without effect.
func (c *uplinkConn) logEnd(ctx context.Context, f *wire.LogEnd) error {
	answer := wire.LogAck{RunID: f.RunID, Attempt: f.Attempt, Complete: true}
	_, _, err := c.runOf(ctx, f.RunID, f.Attempt)
	switch {
	case unwanted(err):
	case err != nil:
		return err
	default:
		kept, err := c.e.Hub.Relay.Finish(f.RunID, f.Attempt, f.Bytes)
		if err != nil {
			return err
		}
		answer.Offset, answer.Complete = kept.Offset, kept.Complete
	}
	_ = c.link.Send(answer)
	return nil
}
