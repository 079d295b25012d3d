package cli

import (
	"context"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runContinue() *cobra.Command {
	var (
		body  api.CreateRun
		fresh bool
		watch bool
	)
	cmd := &cobra.Command{
		Use: "continue RUN PROMPT", Short: "Continue the conversation of a run", Args: takes("RUN", "PROMPT"), ValidArgsFunction: a.completes(runNames),
		Long: "Start a run that continues the conversation of another one: with the same agent and model, on the same host and in the same\n" +
			"workspace, as soon as the other one has ended. PROMPT is the new prompt; @FILE reads a file.\n\n" +
			"It is refused when the agent cannot continue conversations, or the conversation is not known. --fresh starts a new conversation in\n" +
			"the same workspace, with another agent if --provider names one. If the agent has lost the conversation, the run fails with conversation_gone.",
		Example: "  svc run continue 1a2b3c4d 'now write the tests'\n  svc run continue 1a2b3c4d --fresh --provider codex 'review the change'",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		old, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		prompt, err := textOrFile(args[1])
		if err != nil {
			return err
		}
		body.Continues, body.Prompt = api.Some(old.ID), api.Some(prompt)
		if fresh {
			body.Fresh = api.Some(true)
		}
		body.Model = given(cmd, "model", body.Model.Value)
		return a.startRun(ctx, c, body, watch, nil)
	})
	cmd.Flags().BoolVar(&fresh, "fresh", false, "begin a new conversation, in the same workspace")
	cmd.Flags().StringVar(&body.Provider, "provider", "", "with --fresh: `ID` of another agent")
	cmd.Flags().StringVar(&body.Model.Value, "model", "", "with --fresh: `NAME` of another model")
	cmd.Flags().BoolVar(&watch, "watch", false, "wait for its end; the exit code is its outcome")
	a.completeFlag(cmd, "provider", providerNames)
	return a.both(cmd)
}

// conversationWords returns a conversation's id, and whether the run continues an earlier conversation.
func conversationWords(c svc.Conversation) string {
	switch c.Resumed {
	case svc.ResumedYes:
		return c.ID + ", continued"
	case svc.ResumedUnknown:
		return c.ID + ", to be continued; the agent has not confirmed it"
	default:
		return c.ID
	}
}
