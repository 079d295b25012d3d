package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
	"svc/safetext"
)

const (
	// prefixWait is how long the prefix key waits for its second key.
	prefixWait = 500 * time.Millisecond
	// socketPatience bounds one write, and the wait for the answer to a ping.
	socketPatience = 10 * time.Second
	// pingEvery is the time between pings, which detect a peer that is gone without having closed the connection.
	pingEvery = 15 * time.Second
	// letterboxEvery is the time between two reads of the screen for the letterbox.
	letterboxEvery = time.Second
)

// attachFrame is any frame of the attach socket. The type says which of the other fields are used.
type attachFrame struct {
	Type    string   `json:"type"`
	Bytes   []byte   `json:"bytes,omitempty"`
	Rows    int      `json:"rows,omitempty"`
	Cols    int      `json:"cols,omitempty"`
	Code    svc.Code `json:"code,omitempty"`
	Message string   `json:"message,omitempty"`

	Watchers []attachWatcher `json:"watchers,omitempty"`
	More     int             `json:"more,omitempty"`
}

// attachment is one shared terminal. All fields belong to the goroutine of serve; the other goroutines send it what
// they read.
type attachment struct {
	c        *api.Client
	run      svc.Run
	hostName string
	screen   *screen

	output     *safetext.Filter // filters what the session draws, over one connection
	holder     bool             // this client may type
	viewer     bool             // this client can never type: its token only allows watching
	list       watcherList      // the clients that see the session
	prefix     prefixKey
	cols, rows int // the size of the session
	boxed      bool
	keyboard   keyReader     // started with the first connection, stopped at the end of the attachment
	waiting    []attachFrame // read before serve began
}

// awaitHolder waits for the first frame that says who is attached or who holds the lease, and tells the user while lines
// can still be printed. A client that may only watch gets no frame about the lease.
func (t *attachment) awaitHolder(ctx context.Context, conn *websocket.Conn, a *app) error {
	t.cols, t.rows = 220, 50
	for {
		f, err := readFrame(ctx, conn)
		if err != nil {
			return err
		}
		t.waiting = append(t.waiting, f)
		switch {
		case f.Type == "watchers":
			t.list = watcherList{f.Watchers, f.More}
			if !t.list.mine() {
				t.viewer = watchesOnly(ctx, t.c)
				return t.begin(a, false)
			}
		case f.Type == "lease_acquired":
			return t.begin(a, true)
		case f.Type == "error" && f.Code == svc.CodeLeaseHeld:
			return t.begin(a, false)
		}
	}
}

// begin switches to raw mode before it prints how to detach: a user who presses those keys at once would otherwise
// end svc, because Ctrl-\ outside of raw mode sends SIGQUIT.
func (t *attachment) begin(a *app, holder bool) error {
	if err := t.screen.raw(); err != nil {
		return err
	}
	what, more := "attached to", t.sharing(holder)
	if !holder {
		what = "watching"
	}
	switch {
	case more == "":
	case holder:
		more = "; " + more
	default:
		more = ": " + more
	}
	a.note(what+` %s on %s%s; detach: Ctrl-\ d`, t.run.SessionName, t.hostName, more)
	t.screen.show()
	return nil
}

func readFrame(ctx context.Context, conn *websocket.Conn) (f attachFrame, err error) {
	_, b, err := conn.Read(ctx)
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		return f, errRunEnded
	}
	if websocket.CloseStatus(err) == websocket.StatusTryAgainLater {
		return f, errReopen // this client was too slow for a moment
	}
	if err != nil {
		return f, brokenSocket{err}
	}
	return parseFrame(b)
}

func parseFrame(b []byte) (f attachFrame, err error) {
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("read a frame of the attach socket: %w", err)
	}
	return f, nil
}

// serve relays in both directions until an error or the end, and returns the reason.
func (t *attachment) serve(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.output = safetext.Terminal()
	frames, failed := t.readSocket(ctx, conn)
	winch := make(chan os.Signal, 1)
	signal.Notify(winch, syscall.SIGWINCH)
	defer signal.Stop(winch)
	if t.keyboard.typed == nil {
		t.keyboard = readKeys(t.screen.in)
	}
	due := time.NewTimer(0)
	defer due.Stop()
	<-due.C
	box := time.NewTicker(letterboxEvery)
	defer box.Stop()
	for _, f := range t.waiting {
		if err := t.frame(ctx, conn, f); err != nil {
			return err
		}
	}
	t.waiting = nil
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-failed:
		case f := <-frames:
			err = t.frame(ctx, conn, f)
		case keys, ok := <-t.keyboard.typed:
			if !ok {
				return errDetached // the user's terminal was closed
			}
			err = t.keys(ctx, conn, keys, due)
		case <-due.C:
			err = t.send(ctx, conn, t.prefix.expire())
		case <-winch:
			err = t.resized(ctx, conn)
		case <-box.C:
			t.letterbox(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// readSocket returns the frames of the connection until it ends. Pings detect a connection that has ended without
// being closed.
func (t *attachment) readSocket(ctx context.Context, conn *websocket.Conn) (<-chan attachFrame, <-chan error) {
	frames, failed := make(chan attachFrame), make(chan error, 2) // room for both goroutines
	go func() {
		defer sendPanic(failed)
		for {
			f, err := readFrame(ctx, conn)
			if err != nil {
				failed <- err
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		defer sendPanic(failed)
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			pinged, cancel := context.WithTimeout(ctx, socketPatience)
			err := conn.Ping(pinged)
			cancel()
			if err != nil {
				failed <- brokenSocket{err}
				return
			}
		}
	}()
	return frames, failed
}

// sendPanic sends a panic to serve as an error. serve restores the terminal before the program ends.
func sendPanic(failed chan<- error) {
	if v := recover(); v != nil {
		failed <- fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// keys handles what the user typed: the prefix and d detach, all other keys go to the agent.
func (t *attachment) keys(ctx context.Context, conn *websocket.Conn, typed []byte, due *time.Timer) error {
	send, detach := t.prefix.feed(typed)
	due.Stop()
	if t.prefix.held {
		due.Reset(prefixWait)
	}
	if err := t.send(ctx, conn, send); err != nil {
		return err
	}
	if detach {
		return errDetached
	}
	return nil
}

// send types into the session. A client that may not type gets a bell and a line that says why.
func (t *attachment) send(ctx context.Context, conn *websocket.Conn, b []byte) error {
	switch {
	case len(b) == 0:
		return nil
	case !t.holder:
		t.screen.say(t.whyNot())
		return nil
	}
	return t.write(ctx, conn, attachFrame{Type: "input", Bytes: b})
}

func (t *attachment) write(ctx context.Context, conn *websocket.Conn, f attachFrame) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, socketPatience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, b); err != nil {
		return brokenSocket{err}
	}
	return nil
}
