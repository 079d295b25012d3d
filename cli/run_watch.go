package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runWatch() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "watch RUN", Short: "Wait for the end of a run; the exit code is its outcome", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Wait until a run has ended, and print how. The exit code is 0 after a success, 5 after any other\n" +
			"end, and 8 when the run has not ended at --timeout. The end of an attempt that is restarted does not count.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.watch(ctx, c, r.ID)
		}),
	})
}

// watch waits for the end of a run, prints it and returns its exit code as an error.
func (a *app) watch(ctx context.Context, c *api.Client, id string) error {
	r, err := a.awaitEnd(ctx, c, id)
	if errors.Is(err, context.DeadlineExceeded) && a.timeout > 0 {
		return &problem{
			what: fmt.Sprintf("run %s has not ended within %s", shortRun(id), a.timeout), why: "it is " + runWord(r),
			next: a.self() + " run watch " + shortRun(id) + " waits on", exit: exitPending, err: err,
		}
	}
	if err != nil {
		return err
	}
	if err := printDone(a, a.runView(nil), r, "run %s %s", shortRun(r.ID), ending(r)); err != nil {
		return err
	}
	if r.WorkspaceID != nil && a.output == "table" {
		a.note("what it changed: %s run diff %s; into the repository: %s run land %s", a.self(), shortRun(r.ID), a.self(), shortRun(r.ID))
	}
	if !succeeded(r) {
		return exitCode(exitNoSuccess)
	}
	return nil
}

var errEnded = errors.New("the run has ended")

// awaitEnd follows the events of a run until it ends. It reads the head of the journal before it reads the run, so
// that it does not miss an end in between.
func (a *app) awaitEnd(ctx context.Context, c *api.Client, id string) (svc.Run, error) {
	after, err := c.Head(ctx)
	if err != nil {
		return svc.Run{}, err
	}
	r, err := c.Run(ctx, id)
	if err != nil || !r.Status.Active() {
		return r, err
	}
	wait := a.spin()
	defer wait.stop()
	wait.say(runLine(r))
	if !isTerminal(a.err) {
		a.note("waiting for run %s, which is %s", shortRun(r.ID), runWord(r))
	}
	options := api.StreamOptions{EventFilter: svc.EventFilter{Topics: svc.Globs{"run.*"}, Subjects: svc.Subjects{RunID: id}}, After: &after, Lost: func(err error) {
		if err != nil {
			wait.say("the orchestrator is away; waiting for it")
		}
	}}
	err = patiently(ctx, func() error {
		return c.Stream(ctx, options, func(m api.Message) error {
			if m.Topic == svc.TopicRunOutput {
				return nil
			}
			now, err := readRun(ctx, c, id)
			if err != nil {
				return err
			}
			r = now
			wait.say(runLine(r))
			if !r.Status.Active() {
				return errEnded
			}
			return nil
		})
	})
	if errors.Is(err, errEnded) {
		return r, nil
	}
	return r, err
}

// readRun reads a run, and retries while the orchestrator cannot be reached: the event that led to the read is not
// sent again.
func readRun(ctx context.Context, c *api.Client, id string) (r svc.Run, err error) {
	err = patiently(ctx, func() error {
		r, err = c.Run(ctx, id)
		return err
	})
	return r, err
}

// patiently calls try again while the orchestrator cannot be reached. The caller has reached it before, so it
// probably comes back.
func patiently(ctx context.Context, try func() error) error {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		err := try()
		if !errors.Is(err, api.ErrUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// runLine describes a run in one line while the command waits for it.
func runLine(r svc.Run) string {
	line := "run " + shortRun(r.ID) + " " + runWord(r)
	if p := progress(r); p != "" {
		line += ": " + p
	}
	return line
}

// succeeded reports whether a run ended with success: its tool exited, and no hook reported that the user rejected
// the work.
func succeeded(r svc.Run) bool {
	return r.Status == svc.RunExited && (r.Result == nil || *r.Result != svc.ResultUserRejected)
}

// ending describes how a run ended, as the end of a sentence.
func ending(r svc.Run) string {
	text := string(r.Status)
	switch {
	case r.Status == svc.RunStopped:
		text = runWord(r) // stopping, until the session has ended
	case r.Status == svc.RunFailed && r.FailureReason != nil:
		text += ": " + reasonWords[*r.FailureReason]
	case r.Status == svc.RunFailed && r.Error != nil:
		text += ": " + *r.Error
	case r.ExitCode != nil:
		text += fmt.Sprintf(" with code %d", *r.ExitCode)
	}
	if c := r.Conversation; r.Status == svc.RunFailed && r.Error == nil && c != nil && c.Resumed == svc.ResumedUnknown {
		text += ", and never confirmed the conversation, which it may have lost (--fresh begins a new one)"
	}
	if r.Result != nil {
		said := ", result %s"
		if r.Status != svc.RunExited {
			said = ", although the agent had reported %s" // a hook may report success of a tool that fails later
		}
		text += fmt.Sprintf(said, *r.Result)
		if r.ResultReason != nil && *r.ResultReason != "" {
			text += ": " + *r.ResultReason
		}
	}
	if r.StartedAt != nil && r.EndedAt != nil {
		text += " after " + r.EndedAt.Sub(*r.StartedAt).Round(100*time.Millisecond).String()
	}
	return text
}

var reasonWords = map[svc.FailureReason]string{
	svc.ReasonNoEligibleHost:  "no host was there to take it (no_eligible_host)",
	svc.ReasonDispatchTimeout: "no host took it in time (dispatch_timeout)",
	svc.ReasonHostLost:        "its host stayed away (host_lost)",
}
