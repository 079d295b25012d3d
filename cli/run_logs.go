package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runLogs() *cobra.Command {
	var (
		follow        bool
		tail, attempt int
		format        string
	)
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print what a run wrote to its terminal", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Print what a run wrote to its terminal, all attempts in order. On a terminal the bytes are as the session's\n" +
			"terminal got them (raw); elsewhere escape sequences are removed (text).",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		r, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		o := api.LogOptions{Follow: follow, Format: format}
		if cmd.Flags().Changed("tail") {
			o.Tail = &tail
		}
		if cmd.Flags().Changed("attempt") {
			o.Attempt = &attempt
		}
		if format == "" && !a.human() {
			o.Format = "text"
		}
		return a.copyLog(ctx, c, r.ID, o)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing until the session ends")
	cmd.Flags().IntVar(&tail, "tail", 0, "only the last `N` lines")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only attempt `N`")
	cmd.Flags().Var(newChoice(&format, "", "raw", "text"), "format", "`FORM` is raw or text")
	return a.asking(cmd)
}

func (a *app) copyLog(ctx context.Context, c *api.Client, id string, o api.LogOptions) error {
	body, err := c.Logs(ctx, id, o)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if _, err := io.Copy(a.out, body); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if svc.CodeOf(err) == svc.CodeLogGone {
			return err
		}
		return fmt.Errorf("%w at %s: the log broke off: %w", api.ErrUnreachable, c.BaseURL, err)
	}
	if a.human() {
		fmt.Fprint(a.out, "\x1b[0m") // a session may have ended in colour
	}
	return nil
}

func (a *app) runScreen() *cobra.Command {
	return a.answering(a.asking(&cobra.Command{
		Use: "screen RUN", Short: "Print the latest screen of a run", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			pane, err := c.Pane(ctx, r.ID)
			if err != nil {
				return err
			}
			if r.SessionEndedAt != nil && !pane.Final {
				a.note("How the screen looked at the end is not known; this one is of %s.", a.when(&pane.Timestamp))
			}
			text := pane.Capture
			if !a.coloured(a.out) {
				text = ansi.Strip(text)
			}
			v := view[api.Pane]{name: func(p api.Pane) string { return p.RunID }}
			return printDone(a, v, pane, "%s", strings.TrimRight(text, "\n"))
		}),
	}))
}
