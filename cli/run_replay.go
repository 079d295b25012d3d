package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/asciicast"
	"svc/safetext"
)

func (a *app) runReplay() *cobra.Command {
	var attempt int
	pace := replayPace{}
	cmd := &cobra.Command{
		Use: "replay RUN", Short: "Replay a run's terminal", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Replay what a run's terminal showed, at its original speed. Space pauses and continues, q and Ctrl-C quit. The terminal should have the\n" +
			"size of the session's, 220 columns and 50 rows unless someone attached. Without a terminal, the whole output is\n" +
			"printed at once, as `svc run logs` prints it. An active run is played up to now. Runs of workers from before there\n" +
			"were recordings have none.",
		Example: "  svc run replay CHECKOUT-12\n  svc run replay CHECKOUT-12 --speed 4 --idle-limit 500ms",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			if pace.speed <= 0 || pace.speed > maxSpeed {
				return usage("", "--speed must be above 0 and at most %d", maxSpeed)
			}
			if pace.idle < 0 {
				return usage("", "--idle-limit must not be negative")
			}
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			file, short := fetchRecording(ctx, c, r.ID, attempt)
			if file == nil {
				return short
			}
			defer file.Close()
			cast, err := asciicast.NewReader(file)
			if err != nil {
				return err
			}
			in, inOK := a.in.(*os.File)
			out, outOK := a.out.raw().(*os.File)
			if inOK && outOK && isTerminal(in) && isTerminal(out) {
				err = a.replay(ctx, cast, pace, &screen{in: in, out: out})
			} else {
				err = a.printRecording(cast)
			}
			if err != nil {
				return err
			}
			return short
		}),
	}
	cmd.Flags().Float64Var(&pace.speed, "speed", 1, "play `N` times as fast")
	cmd.Flags().DurationVar(&pace.idle, "idle-limit", 2*time.Second, "shorten pauses to this `TIME`; 0: do not shorten them")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "play attempt `N`; default: the last one")
	return a.asking(cmd)
}

// fetchRecording copies a recording into a file without a name, because playing it takes longer than an orchestrator
// waits for a reader. When it returns both a file and an error, the error says that a part of the log is missing.
func fetchRecording(ctx context.Context, c *api.Client, runID string, attempt int) (*os.File, error) {
	f, err := os.CreateTemp("", "svc-*.cast")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // the file is deleted when it is closed
	short := copyRecording(ctx, c, f, runID, attempt)
	if short != nil && svc.CodeOf(short) != svc.CodeLogGone {
		_ = f.Close()
		return nil, short
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil && size == 0 && short != nil { // the code is that of the answer itself: there is no recording at all
		err = short
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, short
}

func copyRecording(ctx context.Context, c *api.Client, to io.Writer, runID string, attempt int) error {
	body, err := c.Recording(ctx, runID, attempt)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	var output *outputError
	_, err = io.Copy(outputWriter{to}, body)
	switch {
	case err == nil, errors.As(err, &output), svc.CodeOf(err) == svc.CodeLogGone:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w at %s: the recording broke off: %w", api.ErrUnreachable, c.BaseURL, err)
}

// printRecording prints the output of a recording as a log.
func (a *app) printRecording(cast *asciicast.Reader) error {
	out, keep := outputWriter{a.out.raw()}, safetext.Plain()
	for {
		e, err := cast.Next()
		if errors.Is(err, io.EOF) {
			_, err := out.Write(keep.Finish(nil))
			return err
		}
		if err != nil {
			return err
		}
		if e.Kind == asciicast.Output {
			if _, err := out.Write(keep.Append(nil, []byte(e.Data))); err != nil {
				return err
			}
		}
	}
}

// replayPace is the speed at which a recording is played.
type replayPace struct {
	speed float64
	idle  time.Duration // the longest pause, before it is divided by speed; 0: no limit
}

// maxSpeed bounds --speed. Nobody can follow a recording that is faster.
const maxSpeed = 1000

// pause returns how long to wait between two times of a recording.
func (p replayPace) pause(from, to time.Duration) time.Duration {
	gap := max(to-from, 0)
	if p.idle > 0 {
		gap = min(gap, p.idle)
	}
	return time.Duration(float64(gap) / p.speed)
}

// errLeft means that the user ended the replay.
var errLeft = errors.New("left")

// replay plays a recording on the user's terminal. On every return, the terminal is in the state that it had before.
func (a *app) replay(ctx context.Context, cast *asciicast.Reader, pace replayPace, s *screen) error {
	// --timeout bounds only what was done up to here.
	held, release := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	cols, rows := s.size()
	if err := s.raw(); err != nil {
		return err
	}
	defer s.restore() // also after a panic
	keys := readKeys(s.in)
	defer keys.end()
	p := &replayer{cast: cast, pace: pace, screen: s, typed: keys.typed, draw: safetext.Terminal()}
	err := p.play(held)
	keys.end()
	s.restore()
	if size := cast.Header; cols < size.Width || rows < size.Height {
		a.note("the recording has %d columns and %d rows, this terminal has %d and %d: it may look different", size.Width, size.Height, cols, rows)
	}
	switch {
	case errors.Is(err, errLeft):
		return nil
	case held.Err() != nil:
		return exitCode(exitInterrupted)
	}
	return err
}

// replayer plays a recording.
type replayer struct {
	cast   *asciicast.Reader
	pace   replayPace
	screen *screen
	typed  <-chan []byte
	draw   *safetext.Filter
	buf    []byte
}

// play draws the output at its times. At the end the last screen stays until a key is pressed.
func (p *replayer) play(ctx context.Context) error {
	now := time.Duration(0)
	for {
		e, err := p.cast.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := p.wait(ctx, p.pace.pause(now, e.At)); err != nil {
			return err
		}
		now = e.At
		if e.Kind == asciicast.Output {
			p.buf = p.draw.Append(p.buf[:0], []byte(e.Data))
			p.screen.write(p.buf)
		}
	}
	p.screen.say("the recording ends here; q quits")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.typed:
		return errLeft
	}
}

// wait waits for pause and handles keys meanwhile.
func (p *replayer) wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for due := timer.C; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
			return nil
		case typed, open := <-p.typed:
			keys := splitKeys(string(typed))
			if !open || slices.Contains(keys, "q") || slices.Contains(keys, "\x03") {
				return errLeft
			}
			if !slices.Contains(keys, " ") {
				continue
			}
			if due = timer.C; timer.Stop() {
				due = nil // until the next space
			} else {
				timer.Reset(0)
			}
		}
	}
}

// exported is the result of `svc run export`.
type exported struct {
	RunID string `json:"run_id"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func (a *app) runExport() *cobra.Command {
	var attempt int
	cmd := &cobra.Command{
		Use: "export RUN FILE", Short: "Write a run's recording to a file", Args: takes("RUN", "FILE"), ValidArgsFunction: a.completes(runNames),
		Long: "Write the recording of a run's terminal to a file that is not there yet, in the format asciicast v2, which asciinema and\n" +
			"its players read. - prints it. A recording shows what the agent's terminal showed, secrets too; the file is for its owner alone.",
		Example: "  svc run export CHECKOUT-12 fix.cast\n  asciinema play fix.cast",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			if args[1] == "-" {
				if a.human() {
					return usage("`svc run replay` plays it here", "a recording cannot be shown on a terminal; name a file, or pipe it into a program")
				}
				return copyRecording(ctx, c, a.out.raw(), r.ID, attempt)
			}
			done := exported{RunID: r.ID, File: args[1]}
			if done.Bytes, err = writeRecording(ctx, c, args[1], r.ID, attempt); err != nil {
				return err
			}
			v := view[exported]{name: func(e exported) string { return e.File }}
			return printDone(a, v, done, "%s has the recording of run %s, %s", done.File, a.short(r.ID, shortRun), sizeText(done.Bytes))
		}),
	}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "write attempt `N`; default: the last one")
	return a.both(cmd)
}

// writeRecording writes a recording to a path at which nothing may exist. The file gets its name only when it is
// complete.
func writeRecording(ctx context.Context, c *api.Client, path, runID string, attempt int) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, svc.Errorf(svc.CodeConflict, "%s exists; name a new file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".svc-*.cast") // readable by its owner alone
	if err != nil {
		return 0, fmt.Errorf("write recording: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = copyRecording(ctx, c, f, runID, attempt)
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike a rename, it never overwrites
		return 0, fmt.Errorf("give the recording its name: %w", err)
	}
	return size, nil
}
