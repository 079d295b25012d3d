package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) inboxCommand() *cobra.Command {
	var snoozed bool
	cmd := &cobra.Command{
		Use: "inbox", Short: "What needs you: questions, failures, changes, messages, hosts in trouble", Args: takes(),
		Long: "List what needs a person, newest first: agents that wait for an answer, runs that failed, changes to review, hosts in trouble.\n" +
			"An entry disappears together with its cause. On a terminal the list is live: Up and Down choose an entry,\n" +
			"Enter attaches to its run, a answers the agent, d dismisses the entry for all users, q quits.",
		Example: "  svc inbox\n  svc inbox --watch -o jsonl\n  svc inbox snooze needs_input.1a2b3c4d --for 2h",
	}
	list := a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		items, err := collect(c.AllInbox(ctx, snoozed))
		if err != nil {
			return err
		}
		return printList(a, a.inboxView(), items)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l := newLive(a, nil)
		if l == nil || a.output != "table" || cmd.Flags().Changed("template") {
			return list(cmd, args)
		}
		var err error
		if l.client, err = a.client(); err != nil {
			return err
		}
		v := &inboxScreen{live: l, footer: footer{app: a}, snoozed: snoozed}
		if err := l.read(cmd.Context(), v); err != nil || len(v.items) == 0 && !a.repeat {
			return list(cmd, args)
		}
		return l.run(cmd.Context(), v)
	}
	cmd.Flags().BoolVar(&snoozed, "snoozed", false, "snoozed entries too")
	cmd.AddCommand(a.inboxDismiss(), a.inboxSnooze())
	return a.reading(cmd)
}

func (a *app) inboxView() view[svc.InboxItem] {
	return view[svc.InboxItem]{
		name:  func(i svc.InboxItem) string { return i.Key },
		empty: "nothing needs you",
		columns: []column[svc.InboxItem]{
			{head: "KEY", cell: func(i svc.InboxItem) string { return a.short(i.Key, shortKey) }},
			{head: "TITLE", cell: func(i svc.InboxItem) string { return i.Title }, flex: true},
			{head: "WHAT", cell: inboxText, tone: inboxTone, flex: true},
			{head: "SINCE", cell: func(i svc.InboxItem) string { return a.when(&i.Since) }},
		},
	}
}

// shortKey returns the part of a key that a user types: its kind and the beginning of its record's id.
func shortKey(key string) string {
	kind, subject, ok := svc.ParseInboxKey(key)
	if !ok {
		return key
	}
	if kind == svc.InboxHost || kind == svc.InboxUnconfirmed { // ids that were made at about the same time have the same beginning
		return string(kind) + "." + subject
	}
	return string(kind) + "." + shortRun(subject)
}

func inboxText(i svc.InboxItem) string {
	if i.SnoozedUntil != nil {
		return i.Text + " (snoozed until " + i.SnoozedUntil.String() + ")"
	}
	return i.Text
}

func inboxTone(i svc.InboxItem) tone {
	switch {
	case i.SnoozedUntil != nil:
		return dim
	case i.Kind == svc.InboxNeedsInput:
		return warn
	case i.Kind == svc.InboxReview:
		return plain
	default:
		return bad
	}
}

// theEntry finds an entry by its key or by the beginning of its key.
func (a *app) theEntry(ctx context.Context, c *api.Client, key string) (svc.InboxItem, error) {
	var found []svc.InboxItem
	for item, err := range c.AllInbox(ctx, true) {
		if err != nil {
			return item, err
		}
		if item.Key == key {
			return item, nil
		}
		if strings.HasPrefix(item.Key, key) {
			found = append(found, item)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return svc.InboxItem{}, &problem{what: fmt.Sprintf("the inbox has no entry %q", key), why: "its cause may be over", next: "`svc inbox -o name` lists the keys", exit: exitNotFound}
	default:
		return svc.InboxItem{}, usage("`svc inbox -o name` lists the keys", "%d entries of the inbox begin with %q", len(found), key)
	}
}

func (a *app) inboxDismiss() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "dismiss KEY", Short: "Remove an entry until its cause happens again", Args: takes("KEY"), ValidArgsFunction: a.completes(inboxKeys),
		Long: "Remove an entry from the inbox, for all users, until its cause happens again.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			item, err := a.theEntry(ctx, c, args[0])
			if err != nil {
				return err
			}
			if item, err = c.DismissInbox(ctx, item.Key); err != nil {
				return err
			}
			return printDone(a, a.inboxView(), item, "dismissed %s", item.Key)
		}),
	})
}

func (a *app) inboxSnooze() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "snooze KEY", Short: "Hide an entry for a while", Args: takes("KEY"), ValidArgsFunction: a.completes(inboxKeys),
		Long: "Hide an entry of the inbox for a while, for all users. It comes back if its cause still exists then.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			if wait <= 0 {
				return usage("such as --for 2h", "--for must be longer than zero")
			}
			item, err := a.theEntry(ctx, c, args[0])
			if err != nil {
				return err
			}
			if item, err = c.SnoozeInbox(ctx, item.Key, svc.TimeOf(a.now().Add(wait))); err != nil {
				return err
			}
			return printDone(a, a.inboxView(), item, "snoozed %s for %s", item.Key, wait)
		}),
	}
	cmd.Flags().DurationVar(&wait, "for", time.Hour, "how `LONG`, such as 30m or 8h")
	return a.both(cmd)
}

func inboxKeys(ctx context.Context, c *api.Client) []string {
	var out []string
	for item, err := range c.AllInbox(ctx, true) {
		if err != nil {
			break
		}
		out = append(out, cobra.CompletionWithDesc(item.Key, item.Title+": "+item.Text))
	}
	return out
}
