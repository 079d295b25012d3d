package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/safetext"
)

func (a *app) runLogs() *cobra.Command {
	var (
		follow        bool
		tail, attempt int
		format        string
		since, grep   string
	)
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print what a run wrote to its terminal", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Print what a run wrote to its terminal, all attempts in order. On a terminal the text keeps its colours and\n" +
			"no other escape sequences; elsewhere it has none (text). --format raw prints every byte as the\n" +
			"session's terminal got it: an agent can then send control sequences to your terminal. With -f it continues at the same place\n" +
			"after the orchestrator was away.",
		Example: "  svc logs CHECKOUT-12 -f\n  svc logs CHECKOUT-12 --since 10m --grep 'error|warning'",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		pattern, err := regexp.Compile(grep)
		if err != nil {
			return usage("", "--grep: %s", err)
		}
		r, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		o := api.LogOptions{Follow: follow, Format: format, Lost: a.awayOnce}
		if since != "" {
			if o.From, err = a.logPlace(ctx, c, r, since); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("tail") {
			o.Tail = &tail
		}
		if cmd.Flags().Changed("attempt") {
			o.Attempt = &attempt
		}
		if format == "" && !a.human() {
			o.Format = "text"
		}
		if grep != "" {
			o.Format = "text"
			return a.copyLog(ctx, c, r.ID, o, pattern)
		}
		return a.copyLog(ctx, c, r.ID, o, nil)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing until the session ends")
	cmd.Flags().IntVar(&tail, "tail", 0, "only the last `N` lines")
	cmd.Flags().StringVar(&since, "since", "", "only what was written after this `TIME`: how long ago, such as 10m, or an instant as in 2006-01-02T15:04:05Z; to within a few seconds")
	cmd.Flags().StringVar(&grep, "grep", "", "only lines that match this `PATTERN`, a regular expression")
	cmd.MarkFlagsMutuallyExclusive("since", "tail")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only attempt `N`")
	cmd.Flags().Var(newChoice(&format, "", "raw", "text"), "format", "`FORM` is raw or text")
	return a.asking(cmd)
}

// copyLog prints a log, or only its lines that match.
func (a *app) copyLog(ctx context.Context, c *api.Client, id string, o api.LogOptions, match *regexp.Regexp) error {
	body, err := c.Logs(ctx, id, o)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	out := io.Writer(outputWriter{a.out.raw()})
	if a.human() && o.Format != "raw" {
		out = &logWriter{to: out, keep: safetext.Log()}
	}
	var output *outputError
	if err := copyLines(out, body, match); errors.As(err, &output) {
		return err
	} else if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if svc.CodeOf(err) == svc.CodeLogGone {
			return err
		}
		return fmt.Errorf("%w at %s: the log broke off: %w", api.ErrUnreachable, c.BaseURL, err)
	}
	if a.human() {
		a.out.printf("\x1b[0m") // a session may have ended in colour
	}
	return nil
}

// logWriter writes a log to a terminal: it keeps text and colours and removes other escape sequences.
type logWriter struct {
	to   io.Writer
	keep *safetext.Filter
	buf  []byte
}

func (w *logWriter) Write(b []byte) (int, error) {
	w.buf = w.keep.Append(w.buf[:0], b)
	_, err := w.to.Write(w.buf)
	return len(b), err
}

// copyLines copies the lines that match. With a nil match it copies everything as it comes.
func copyLines(out io.Writer, in io.Reader, match *regexp.Regexp) error {
	if match == nil {
		_, err := io.Copy(out, in)
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimRight(line, "\r\n"); len(line) > 0 && match.Match(text) {
			if _, err := out.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// logPlace returns the place in a run's log at an instant. It adds up the events about output until then. So it may
// return a place that is too early: by at most the interval of those events, or by what the journal no longer has.
func (a *app) logPlace(ctx context.Context, c *api.Client, r svc.Run, since string) (string, error) {
	until, err := a.instant(since)
	if err != nil {
		return "", err
	}
	attempt, written := 0, int64(0)
	filter := svc.EventFilter{Topics: svc.Globs{string(svc.TopicRunOutput)}, Subjects: svc.Subjects{RunID: r.ID}}
	for e, err := range c.AllEvents(ctx, filter) { // newest first
		if err != nil {
			return "", err
		}
		if e.CreatedAt >= until {
			continue
		}
		var output struct {
			Attempt   int   `json:"attempt"`
			ByteCount int64 `json:"byte_count"`
		}
		if err := json.Unmarshal(e.Payload, &output); err != nil {
			return "", fmt.Errorf("read event %d: %w", e.Seq, err)
		}
		if attempt != 0 && output.Attempt != attempt {
			break
		}
		attempt = output.Attempt
		written += output.ByteCount
	}
	return fmt.Sprintf("%d:%d", attempt, written), nil
}

// instant parses a time: how long ago it was, or the time itself.
func (a *app) instant(text string) (svc.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return svc.TimeOf(a.now().Add(-ago)), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return svc.TimeOf(a.now().AddDate(0, 0, -n)), nil
		}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, usage("", "%q is neither how long ago, such as 10m, nor an instant as in 2006-01-02T15:04:05Z", text)
	}
	return svc.TimeOf(at), nil
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
			text := strings.TrimRight(pane.Capture, "\n")
			shown := safetext.Colours(text)
			if !a.coloured(a.out) {
				shown = safetext.Lines(ansi.Strip(text))
			}
			v := view[api.Pane]{name: func(p api.Pane) string { return p.RunID }}
			return printDone(a, v, pane, "%s", shown)
		}),
	}))
}
