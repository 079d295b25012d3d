package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"svc/api"
)

// liveView is a view that fills the terminal, is updated when something happens, and reacts to keys.
type liveView interface {
	read(ctx context.Context) error
	// failed is called after every read with its error, or nil. After an error, the view keeps showing the former
	// content.
	failed(err error)
	draw()
	// press handles a key. When the action needs the terminal for itself, press returns it as a function.
	press(ctx context.Context, key string) (leave func(context.Context) error, err error)
	// outcome is called with the error that such a function returned, or nil.
	outcome(err error)
}

// live shows a view until the user leaves it. One goroutine reads and draws; it receives keys and events through
// channels.
type live struct {
	app    *app
	client *api.Client
	in     *os.File
	canvas *canvas
}

// livePoll is the time between two reads when no event comes: ages grow, and not every change of a screen is an
// event.
const livePoll = 2 * time.Second

// errQuit ends a view without an error.
var errQuit = errors.New("quit")

// newLive returns nil when standard input or output is no terminal.
func newLive(a *app, c *api.Client) *live {
	in, inOK := a.in.(*os.File)
	out, outOK := a.out.raw().(*os.File)
	if !inOK || !outOK || !isTerminal(in) || !isTerminal(out) {
		return nil
	}
	return &live{app: a, client: c, in: in, canvas: newCanvas(out)}
}

func (l *live) run(ctx context.Context, v liveView) error {
	if err := l.read(ctx, v); err != nil {
		return err
	}
	before, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() {
		l.canvas.forget() // nothing of a live view stays on the terminal
		_ = term.Restore(int(l.in.Fd()), before)
	}()
	news, stopNews := l.follow(ctx)
	defer stopNews()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	keys := readKeys(l.in)
	defer func() { keys.stop() }()
	poll := time.NewTicker(livePoll)
	defer poll.Stop()
	for {
		v.draw()
		select {
		case <-ctx.Done():
			return exitCode(exitInterrupted)
		case <-resized:
			continue
		case typed, open := <-keys.typed:
			if !open {
				return nil // the terminal was closed
			}
			leave, err := pressAll(ctx, v, splitKeys(string(typed)))
			if errors.Is(err, errQuit) {
				return nil
			}
			if err != nil {
				return err
			}
			if leave != nil { // another program has the terminal for a while
				keys.stop()
				l.canvas.forget()
				_ = term.Restore(int(l.in.Fd()), before)
				v.outcome(leave(ctx))
				if _, err := term.MakeRaw(int(l.in.Fd())); err != nil {
					return fmt.Errorf("prepare the terminal: %w", err)
				}
				keys = readKeys(l.in)
			}
		case <-news:
			l.pause(ctx)
		case <-poll.C:
		}
		v.failed(l.read(ctx, v))
	}
}

// pressAll handles several keys, up to one whose action needs the terminal for itself.
func pressAll(ctx context.Context, v liveView, keys []string) (leave func(context.Context) error, err error) {
	for _, key := range keys {
		if leave, err = v.press(ctx, key); leave != nil || err != nil {
			return leave, err
		}
	}
	return nil, nil
}

// pause waits for a moment, so that a burst of events causes one read.
func (l *live) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(watchGap):
	}
}

// follow returns a channel that receives when something has happened. stop ends the goroutine and waits for it.
func (l *live) follow(ctx context.Context) (news <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changed, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		after, err := l.client.Head(ctx)
		if err != nil {
			return // without the stream, the poll still updates the view
		}
		_ = patiently(ctx, func() error {
			return l.client.Stream(ctx, api.StreamOptions{After: &after}, func(api.Message) error {
				notifyChange(changed)
				return nil
			})
		})
	}()
	return changed, func() {
		cancel()
		<-done
	}
}

// read updates a view, within --timeout.
func (l *live) read(ctx context.Context, v liveView) error {
	if l.app.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.app.timeout)
		defer cancel()
	}
	return v.read(ctx)
}

// footer is the line below a view: the result of the last key, or the error of a read.
type footer struct {
	app     *app
	message string // the result of the last key, until the next key
	away    bool   // the orchestrator does not answer; what is shown is old
}

func (f *footer) failed(err error) {
	f.away = err != nil
	if err != nil && !errors.Is(err, api.ErrUnreachable) {
		f.outcome(err)
	}
}

// outcome stores an error for the line below.
func (f *footer) outcome(err error) {
	var code exitCode
	if err != nil && !errors.As(err, &code) {
		p := f.app.explain(err)
		f.message = p.Error()
	}
}

// line returns the message, the state of the connection, or else the help about the keys.
func (f *footer) line(keys string) string {
	switch {
	case f.message != "":
		return f.message
	case f.away:
		return "the orchestrator is away; waiting for it · q quit"
	default:
		return keys
	}
}
