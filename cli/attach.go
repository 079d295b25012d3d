package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) attachCommand() *cobra.Command {
	return a.asking(&cobra.Command{
		Use: "attach RUN", Short: "Share a run's terminal", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Share the terminal of a running run: you see what it shows, and what you type goes to the agent.\n" +
			"Ctrl-\\ and then d detaches; the run continues. While someone else types, you watch; when they detach, you can type.\n" +
			"The first line says who else is attached.\n" +
			"--timeout bounds only the time until the terminal is attached.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			in, inOK := a.in.(*os.File)
			out, outOK := a.out.raw().(*os.File)
			if !inOK || !outOK || !isTerminal(in) || !isTerminal(out) {
				return usage("`svc run logs -f RUN` shows the output, `svc run keys RUN KEY…` types", "`svc attach` needs a terminal")
			}
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.attach(ctx, c, r, &screen{in: in, out: out})
		}),
	})
}

// The reasons for which an attachment ends, besides an error.
var (
	errDetached = errors.New("detached")
	errRunEnded = errors.New("the run has ended")
	errReopen   = errors.New("the terminal is to be drawn anew")
)

// attach shares a run's terminal until the user detaches, the run ends or the orchestrator cannot be reached. On
// every return, the terminal is in the state that it had before.
func (a *app) attach(ctx context.Context, c *api.Client, r svc.Run, s *screen) (err error) {
	conn, err := c.AttachListing(ctx, r.ID)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	t := &attachment{c: c, run: r, screen: s, hostName: a.hostOf(ctx, c, r)}
	// --timeout bounds only the wait for the first frames.
	held, release := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	if err := t.awaitHolder(ctx, conn, a); err != nil {
		return a.attachEnd(ctx, c, r, t, err)
	}
	defer s.restore() // also after a panic
	defer func() { t.keyboard.end() }()
	for {
		err = t.serve(held, conn)
		_ = conn.CloseNow() // serve has read until the end, so there is no closing handshake to wait for
		if !errors.Is(err, errReopen) {
			break
		}
		if conn, err = c.AttachListing(held, r.ID); err != nil {
			break
		}
	}
	s.restore()
	return a.attachEnd(held, c, r, t, err)
}

// hostOf returns the name of a run's host, or the host's id when the name cannot be read.
func (a *app) hostOf(ctx context.Context, c *api.Client, r svc.Run) string {
	if r.HostID == nil {
		return ""
	}
	h, err := c.Host(ctx, *r.HostID)
	if err != nil {
		return *r.HostID
	}
	return h.Name
}

// attachEnd tells the user how the attachment ended. The terminal must be restored before, so that it can be printed
// to.
func (a *app) attachEnd(ctx context.Context, c *api.Client, r svc.Run, t *attachment, err error) error {
	again := "the run continues; `" + a.self() + " attach " + shortRun(r.ID) + "` attaches again"
	switch {
	case errors.Is(err, errDetached):
		a.note("detached from %s; the run continues", r.SessionName)
		return nil
	case errors.Is(err, errRunEnded):
		text := "has ended"
		if now, err := c.Run(ctx, r.ID); err == nil && !now.Status.Active() {
			text = ending(now)
		}
		a.note("%s on %s %s", r.SessionName, t.hostName, text)
		return nil
	case ctx.Err() != nil:
		a.note("detached from %s by a signal; the run continues", r.SessionName)
		return exitCode(exitInterrupted)
	case errors.Is(err, api.ErrUnreachable), websocket.CloseStatus(err) != -1, isBroken(err):
		return &problem{
			what: "the connection to the orchestrator at " + c.BaseURL + " is gone", why: closeReason(err),
			next: again + " when it is back", exit: exitUnreachable, err: err,
		}
	}
	return err
}

// brokenSocket marks an error of the connection.
type brokenSocket struct{ error }

func (b brokenSocket) Unwrap() error { return b.error }

func isBroken(err error) bool {
	var b brokenSocket
	return errors.As(err, &b)
}

func closeReason(err error) string {
	var closed websocket.CloseError
	if errors.As(err, &closed) && closed.Reason != "" {
		return closed.Reason
	}
	return "it broke off"
}
