package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// messageView describes how messages are printed.
func (a *app) messageView() view[svc.Message] {
	return view[svc.Message]{
		empty: "no messages; svc run send-message RUN TEXT sends one",
		name:  func(m svc.Message) string { return m.ID },
		columns: []column[svc.Message]{
			{head: "MESSAGE", cell: func(m svc.Message) string { return a.short(m.ID, shortRecent) }},
			{head: "STATE", cell: messageState},
			{head: "BY", cell: func(m svc.Message) string { return m.By }},
			{head: "TEXT", cell: func(m svc.Message) string { line, _, _ := strings.Cut(m.Text, "\n"); return line }, flex: true},
		},
	}
}

// messageState returns the state of a message and its reason.
func messageState(m svc.Message) string {
	if m.Reason == "" {
		return string(m.State)
	}
	return string(m.State) + ": " + strings.ReplaceAll(string(m.Reason), "_", " ")
}

func (a *app) runSendMessage() *cobra.Command {
	var body api.SendMessage
	var when string
	cmd := &cobra.Command{
		Use: "send-message RUN [TEXT]", Short: "Send a message to the agent of a live session", Args: takes("RUN", "[TEXT]"), ValidArgsFunction: a.completes(runNames),
		Long: "Send a message to the agent of a run. It is pasted into its session and submitted, after the messages that were sent before, and at most\n" +
			"once. Without a text, list the messages of the run and their states. A TEXT of @FILE is read from a file.",
		Example: "  svc run send-message 1a2b3c4d 'use the other branch'\n  svc run send-message CHECKOUT-12 --when turn_end @next.md\n  svc run send-message 1a2b3c4d",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.listMessages(ctx, c, r)
			}
			if body.Text, err = textOrFile(args[1]); err != nil {
				return err
			}
			body.Text, body.When = strings.TrimRight(body.Text, "\n"), svc.MessageWhen(when) // a file ends with a newline
			m, err := c.SendMessage(ctx, r.ID, body)
			if err != nil {
				return err
			}
			if err := printDone(a, a.messageView(), m, "message %s is %s", a.short(m.ID, shortRecent), messageState(m)); err != nil || m.State != svc.MessageUndelivered {
				return err
			}
			return &problem{what: "the message was not delivered: " + r.Provider + " takes no messages on its host", next: "svc attach types into the session", exit: exitConflict}
		}),
	}
	cmd.Flags().Var(newChoice(&when, string(svc.MessageNow), string(svc.MessageNow), string(svc.MessageTurnEnd)), "when",
		"`TIME` of its delivery: now, or turn_end, when the agent waits for a prompt")
	cmd.Flags().BoolVar(&body.Answer, "answer", false, "it may answer a question that the agent asks")
	return a.both(cmd)
}

func (a *app) listMessages(ctx context.Context, c *api.Client, r svc.Run) error {
	var all []svc.Message
	for m, err := range c.AllMessages(ctx, r.ID) {
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	return printList(a, a.messageView(), all)
}
