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

// liveView is a view that fills the terminal, is read anew when something happens, and has keys.
type liveView interface {
	read(ctx context.Context) error
	// failed is told what a read ran into, nil when it did not. What was shown stays.
	failed(err error)
	draw()
	// press is what a key does. What needs the terminal for itself is answered as a function.
	press(ctx context.Context, key string) (leave func(context.Context) error, err error)
	// outcome is told what such a function led to.
	outcome(err error)
}

// live shows a view until it is left. One goroutine reads and draws; keys and news come to it by channels.
type live struct {
	app    *app
	client *api.Client
	in     *os.File
	canvas *canvas
}

// livePoll is how often a view is read anew when nothing is told: ages grow, and screens change.
const livePoll = 2 * time.Second

// errQuit ends the view.
var errQuit = errors.New("quit")

// newLive is nil when there is no terminal to show a view on.
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
		l.canvas.forget() // a live view leaves nothing behind
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
				return nil // the terminal is gone
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

// pressAll does what several keys do, up to one that hands the terminal over.
func pressAll(ctx context.Context, v liveView, keys []string) (leave func(context.Context) error, err error) {
	for _, key := range keys {
		if leave, err = v.press(ctx, key); leave != nil || err != nil {
			return leave, err
		}
	}
	return nil, nil
}

// pause lets a burst of events become one answer.
func (l *live) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(watchGap):
	}
}

// follow says when something has happened. Stop ends it and waits.
func (l *live) follow(ctx context.Context) (news <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changed, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		after, err := l.client.Head(ctx)
		if err != nil {
			return // the poll tells the rest
		}
		_ = patiently(ctx, func() error {
			return l.client.Stream(ctx, api.StreamOptions{After: &after}, func(api.Message) error {
				poke(changed)
				return nil
			})
		})
	}()
	return changed, func() {
		cancel()
		<-done
	}
}

// read reads a view anew within --timeout.
func (l *live) read(ctx context.Context, v liveView) error {
	if l.app.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.app.timeout)
		defer cancel()
	}
	return v.read(ctx)
}

// footer is the line below a view: what a key or a read led to.
type footer struct {
	app     *app
	message string // what the last key led to, until the next one
	away    bool   // the orchestrator does not answer; what is shown is old
}

func (f *footer) failed(err error) {
	f.away = err != nil
	if err != nil && !errors.Is(err, api.ErrUnreachable) {
		f.outcome(err)
	}
}

// outcome keeps an error for the line below.
func (f *footer) outcome(err error) {
	var code exitCode
	if err != nil && !errors.As(err, &code) {
		p := f.app.explain(err)
		f.message = p.Error()
	}
}

// line is what stands below when nothing else is to be said than keys.
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
