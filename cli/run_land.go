package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runLand() *cobra.Command {
	var squash, merge, push bool
	var into, message string
	var number int
	cmd := &cobra.Command{
		Use: "land RUN", Short: "Land a run's work in its repository", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Land the newest checkpoint of a run's working copy in its repository: as one commit on top of the branch that the copy began at,\n" +
			"as a merge commit, or as a branch of its own. Exactly that checkpoint is landed: when there is a newer one, or a conflict, nothing\n" +
			"changes. The command waits for the outcome and prints it. The exit code is 0 when it was landed, 9 when it cannot be, 7 when the host or the\n" +
			"repository cannot be reached, and 8 when the outcome was not known at --timeout.",
		Example: "  svc run land 1a2b3c4d\n  svc run land 1a2b3c4d --merge --into release -m \"Add the search\"\n  svc run land 1a2b3c4d --push",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		if squash && merge || squash && push || merge && push {
			return usage("choose one of them", "--squash, --merge and --push exclude each other")
		}
		w, err := a.workspaceOfRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		body := api.LandWorkspace{Checkpoint: number, How: string(svc.LandSquash), Into: given(cmd, "into", into), Message: given(cmd, "message", message)}
		switch {
		case merge:
			body.How = string(svc.LandMerge)
		case push:
			body.How = string(svc.LandPush)
		}
		if number == 0 {
			if body.Checkpoint = w.RelayedCheckpoint; body.Checkpoint == 0 {
				return &problem{what: "run " + a.short(w.RunID, shortRun) + " has no checkpoint at the orchestrator", next: "`svc workspace show` shows its state", exit: exitNotFound}
			}
			a.note("checkpoint %d: %s; %s run diff %s shows it", body.Checkpoint, changeWords(w), a.self(), a.short(w.RunID, shortRun))
		}
		return a.land(ctx, c, w.ID, body)
	})
	cmd.Flags().BoolVar(&squash, "squash", false, "as one commit (the default)")
	cmd.Flags().BoolVar(&merge, "merge", false, "as a merge commit, with the agent's own commits")
	cmd.Flags().BoolVar(&push, "push", false, "as a branch of its own; no other branch is changed")
	cmd.Flags().StringVar(&into, "into", "", "target `BRANCH`; default: the one that the working copy began at")
	cmd.Flags().StringVarP(&message, "message", "m", "", "`TEXT` of the commit; default: the task's title")
	cmd.Flags().IntVar(&number, "checkpoint", 0, "`NUMBER` of the checkpoint that you have read; default: the newest that the orchestrator has")
	return a.both(cmd)
}

// land requests a landing, waits for its outcome and prints it.
func (a *app) land(ctx context.Context, c *api.Client, id string, body api.LandWorkspace) error {
	after, err := c.Head(ctx)
	if err != nil {
		return err
	}
	w, err := c.LandWorkspace(ctx, id, body)
	if err != nil {
		return err
	}
	w, err = a.awaitLanding(ctx, c, w, after)
	if errors.Is(err, context.DeadlineExceeded) && a.timeout > 0 {
		return &problem{
			what: fmt.Sprintf("the outcome of the landing is not known after %s", a.timeout), why: w.Landing.Error,
			next: a.self() + " workspace show " + a.short(w.RunID, shortRun) + " shows it later", exit: exitPending, err: err,
		}
	}
	if err != nil {
		return err
	}
	l := w.Landing
	if l.State == svc.LandingFailed {
		return a.notLanded(w)
	}
	return printDone(a, a.workspaceView(), w, "landed checkpoint %d into %s as %s", l.Checkpoint, l.Into, svc.ShortCommit(l.Commit))
}

// notLanded returns an error that says why a landing failed and what to do about it.
func (a *app) notLanded(w svc.Workspace) error {
	l := w.Landing
	p := &problem{what: fmt.Sprintf("checkpoint %d was not landed into %s", l.Checkpoint, l.Into), why: l.Error, exit: exitConflict}
	switch l.Reason {
	case svc.LandConflict:
		p.why = l.Error + ": " + strings.Join(l.Conflicts, ", ")
		p.next = "start a run in the working copy that brings it up to date: " + a.self() + " run start TASK --workspace " + a.short(w.ID, shortRun)
	case svc.LandChangeMoved:
		p.next = "read what was written since, and land that: " + a.self() + " run diff " + a.short(w.RunID, shortRun)
	case svc.LandUnreachable:
		p.next, p.exit = "try again when the repository can be reached from the host", exitUnreachable
	case svc.LandCheckout:
		p.next = "commit there, or check out another branch, and try again; or land it as a branch of its own with --push"
	case svc.LandRefused:
		p.next = "land it as a branch of its own with --push, if the branch is protected"
	case svc.LandGivenUp:
		p.next = "check " + l.Into + " in the repository; `" + a.self() + " run discard " + a.short(w.RunID, shortRun) + " --undo` and a new landing check it first, too"
	case svc.LandNothing:
		p.next = "nothing is left to do"
		if w.LandedAgain() {
			p.next += fmt.Sprintf(": checkpoint %d was landed as %s", w.LandedCheckpoint, svc.ShortCommit(w.LandedCommit))
		}
	case svc.LandTargetMissing:
		p.next = "name a branch of the repository with --into"
	default:
		p.next = "`" + a.self() + " workspace show " + a.short(w.RunID, shortRun) + "` shows more"
	}
	return p
}

// awaitLanding follows the workspace's events until its landing is settled. after is the head of the journal before
// the landing was requested.
func (a *app) awaitLanding(ctx context.Context, c *api.Client, w svc.Workspace, after int64) (svc.Workspace, error) {
	asked := w.Landing.ID
	wait := a.spin()
	defer wait.stop()
	wait.say("its host lands checkpoint " + fmt.Sprint(w.Landing.Checkpoint))
	options := api.StreamOptions{EventFilter: svc.EventFilter{Topics: svc.Globs{"workspace.land*"}, Subjects: svc.Subjects{WorkspaceID: w.ID}}, After: &after, Lost: func(err error) {
		if err != nil {
			wait.say("the orchestrator is away; waiting for it")
		}
	}}
	err := patiently(ctx, func() error {
		return c.Stream(ctx, options, func(api.Message) error {
			now, err := c.Workspace(ctx, w.ID)
			if err != nil {
				return err
			}
			if now.Landing == nil || now.Landing.ID != asked {
				return fmt.Errorf("another landing of the workspace has begun since")
			}
			if w = now; w.Landing.State != svc.LandingOpen {
				return errEnded
			}
			return nil
		})
	})
	if errors.Is(err, errEnded) {
		return w, nil
	}
	return w, err
}

func (a *app) runDiscard() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "discard RUN", Short: "Mark a run's work as not wanted", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Mark the working copy of a run as not wanted. It is removed from its host after the project's keep_days, if nothing is lost by it.\n" +
			"A landing whose outcome is not known, because its repository never came back, is given up: it is not tried any more. If the host\n" +
			"reports an outcome later, that is shown; a new landing first checks whether the branch has the change.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.workspaceOfRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.discard(ctx, c, w, undo)
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "undo a discard")
	return a.both(cmd)
}

// discard marks a workspace as discarded, or with undo as kept.
func (a *app) discard(ctx context.Context, c *api.Client, w svc.Workspace, undo bool) (err error) {
	change, word := c.DiscardWorkspace, "discarded"
	if undo {
		change, word = c.KeepWorkspace, "kept"
	}
	before := w.Landing
	if w, err = change(ctx, w.ID); err != nil {
		return err
	}
	if l := w.Landing; l != nil && l.Reason == svc.LandGivenUp && (before == nil || before.ID == l.ID && before.State == svc.LandingOpen) {
		a.note("the landing into %s was given up; whether %s has the change is not known", l.Into, l.Into)
	}
	return printDone(a, a.workspaceView(), w, "%s workspace %s", word, a.short(w.ID, shortRun))
}
