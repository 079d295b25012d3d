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

// reading are the flags of a command that shows what there is: both, and
// --watch.
func (a *app) reading(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVarP(&a.repeat, "watch", "w", false, "answer again whenever something changes, until Ctrl-C or --timeout")
	return a.both(cmd)
}

// How often --watch answers: at least this far apart when much happens, and at
// least this often when nothing does, because ages grow and not everything
// that is shown is an event.
const (
	watchGap  = 200 * time.Millisecond
	watchPoll = 5 * time.Second
)

// repeatedly is --watch: it answers, and answers again after every event. What
// the first answer runs into ends it, as without --watch; later on an
// orchestrator that is away is waited for.
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
		options := api.StreamOptions{After: &after, Lost: func(error) { poke(changed) }}
		return patiently(ctx, func() error {
			return c.Stream(ctx, options, func(api.Message) error {
				poke(changed)
				return nil
			})
		})
	})
	group.Go(func() error { return show.again(ctx, changed, do) })
	err = group.Wait()
	if a.timeout > 0 && errors.Is(err, context.DeadlineExceeded) {
		return exitCode(exitPending) // that is how long the person wanted to watch, so there is nothing to say
	}
	return err
}

// poke says that something happened. One such word waits at most.
func poke(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// show is the place where an answer is shown again and again.
type show struct {
	app      *app
	out, err *stream   // where the answer and the rest go in the end
	canvas   *canvas   // nil: it is no terminal
	last     [2]string // what was shown last, of both
	any      bool      // something was
}

func newShow(a *app) *show {
	s := &show{app: a, out: a.out, err: a.err}
	if a.human() {
		s.canvas = newCanvas(a.out.raw())
	}
	return s
}

// close ends the show. On a terminal the last answer stays where the command
// was called.
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

// answer collects a whole answer and shows it when it is another one.
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

// print is for programs and files: one answer after the other, tables with a
// line between them.
func (s *show) print(now [2]string) {
	if s.any && s.app.output == "table" && now[0] != "" {
		s.out.println()
	}
	s.out.write(now[0])
	s.err.write(now[1])
}

// away says that what is shown may be old. It is said once.
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

// page is an answer that is kept until it is whole. It passes for the stream it
// is meant for, so that it is laid out for that.
type page struct {
	bytes.Buffer
	to io.Writer
}

// Fd is that of the stream the page is for.
func (p *page) Fd() uintptr {
	if f, ok := p.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
