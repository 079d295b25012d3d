package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"svc/api"
)

// reading adds the flags of both, and --watch.
func (a *app) reading(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVarP(&a.repeat, "watch", "w", false, "print again whenever something changes, until Ctrl-C or --timeout")
	return a.both(cmd)
}

// How often --watch answers: at most once per watchGap, and at least once per watchPoll, because ages grow and not
// everything that is shown has an event.
const (
	watchGap  = 200 * time.Millisecond
	watchPoll = 5 * time.Second
)

// repeatedly implements --watch: it answers once, and again after every event. An error of the first answer ends it,
// as without --watch; later on, it waits for an orchestrator that cannot be reached.
func (a *app) repeatedly(ctx context.Context, c *api.Client, do func(context.Context) error) error {
	after, err := c.Head(ctx)
	if err != nil {
		return err
	}
	show := newShow(a)
	defer show.close()
	if err := show.answer(ctx, do); err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		options := api.StreamOptions{After: &after, Lost: func(error) { notifyChange(changed) }}
		return patiently(ctx, func() error {
			return c.Stream(ctx, options, func(api.Message) error {
				notifyChange(changed)
				return nil
			})
		})
	})
	group.Go(func() error { return show.again(ctx, changed, do) })
	err = group.Wait()
	if a.timeout > 0 && errors.Is(err, context.DeadlineExceeded) {
		return exitCode(exitPending) // the time to watch is over, which is no error to explain
	}
	return err
}

// notifyChange sends to changed that something happened. At most one such message waits.
func notifyChange(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// show prints an answer again and again.
type show struct {
	app      *app
	out, err *stream   // where the answer and the messages are written to
	canvas   *canvas   // nil: it is no terminal
	last     [2]string // the last answer, and the last messages
	any      bool      // an answer was shown
}

func newShow(a *app) *show {
	s := &show{app: a, out: a.out, err: a.err}
	if a.human() {
		s.canvas = newCanvas(a.out.raw())
	}
	return s
}

// close ends the show. On a terminal, the last answer stays on the normal screen.
func (s *show) close() {
	if s.canvas != nil {
		s.canvas.close()
	}
}

// again answers after every change until ctx ends.
func (s *show) again(ctx context.Context, changed <-chan struct{}, do func(context.Context) error) error {
	poll := time.NewTicker(watchPoll)
	defer poll.Stop()
	gap := time.NewTicker(watchGap)
	defer gap.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gap.C:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-poll.C:
		}
		err := s.answer(ctx, do)
		switch {
		case errors.Is(err, api.ErrUnreachable) && ctx.Err() == nil:
			s.away()
		case err != nil:
			return err
		}
	}
}

// answer collects a whole answer and shows it if it has changed.
func (s *show) answer(ctx context.Context, do func(context.Context) error) error {
	out, note := &page{to: s.out.raw()}, &page{to: s.err.raw()}
	s.app.out, s.app.err = newStream(out), newStream(note)
	err := do(ctx)
	s.app.out, s.app.err = s.out, s.err
	if err != nil {
		return err
	}
	now := [2]string{out.String(), note.String()}
	if s.canvas != nil {
		s.canvas.draw(now[0]+now[1], s.app.now().Format("15:04:05")+" · watching; Ctrl-C ends")
	} else if !s.any || now != s.last {
		s.print(now)
	}
	s.last, s.any = now, true
	return nil
}

// print writes an answer for programs and files. Tables have an empty line between them.
func (s *show) print(now [2]string) {
	if s.any && s.app.output == "table" && now[0] != "" {
		s.out.println()
	}
	s.out.write(now[0])
	s.err.write(now[1])
}

// away prints, once, that the orchestrator cannot be reached and the shown answer may be old.
func (s *show) away() {
	const text = "the orchestrator is away; waiting for it"
	switch {
	case s.canvas != nil:
		s.canvas.draw(s.last[0]+s.last[1], text)
	case s.last[1] != text:
		s.app.note(text)
		s.last[1] = text
	}
}

// page collects an answer until it is complete. It has the Fd of the stream that the answer is for, so that the
// answer is laid out for that stream.
type page struct {
	bytes.Buffer
	to io.Writer
}

// Fd returns the file descriptor of the stream that the page is for.
func (p *page) Fd() uintptr {
	if f, ok := p.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
