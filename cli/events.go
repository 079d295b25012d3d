package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) eventsCommand() *cobra.Command {
	var (
		follow bool
		topics []string
		since  int64
		limit  int
	)
	cmd := &cobra.Command{
		Use: "events", Short: "Print the journal of what happened", Args: takes(),
		Long: "Print the journal of what happened, oldest first. With -f it goes on with what happens; with --since it begins\n" +
			"after that event, else with the last few.",
		Example: "  svc events -f --topic 'run.*'\n  svc events --since 1200 -o jsonl",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		globs, err := svc.ParseGlobs(topics)
		if err != nil {
			return err
		}
		var after *int64
		if cmd.Flags().Changed("since") {
			after, limit = &since, 0
		}
		past, err := eventsAfter(ctx, c, globs, after, limit)
		if err != nil {
			return err
		}
		if !follow {
			return printList(a, a.eventView(), past)
		}
		return a.followEvents(ctx, c, globs, after, past)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "only these topics; `GLOB` such as run.*; may be repeated")
	cmd.Flags().Int64Var(&since, "since", 0, "only after the event with this `SEQ`")
	addLimit(cmd, &limit, 20)
	return a.both(cmd)
}

// eventsAfter is the newest part of the journal, oldest first.
func eventsAfter(ctx context.Context, c *api.Client, globs svc.Globs, after *int64, limit int) ([]svc.Event, error) {
	var events []svc.Event
	for e, err := range c.AllEvents(ctx, globs) {
		if err != nil {
			return nil, err
		}
		if after != nil && e.Seq <= *after {
			break
		}
		if events = append(events, e); len(events) == limit {
			break
		}
	}
	slices.Reverse(events)
	return events, nil
}

// followEvents prints what was found and goes on behind it. On a stream there
// is no whole to print, so JSON is one line for each event.
func (a *app) followEvents(ctx context.Context, c *api.Client, globs svc.Globs, after *int64, past []svc.Event) error {
	for _, e := range past {
		if err := a.printEvent(e); err != nil {
			return err
		}
		after = &e.Seq
	}
	return c.Stream(ctx, api.StreamOptions{Topics: globs, After: after, Lost: func(err error) {
		if err != nil {
			a.note("the orchestrator is away; waiting for it")
		}
	}}, func(m api.Message) error {
		if m.Topic == api.TopicSnapshot {
			a.note("events up to %d are no longer in the journal", m.Seq)
			return nil
		}
		return a.printEvent(svc.Event{Seq: m.Seq, Topic: m.Topic, Payload: m.Data, CreatedAt: svc.TimeOf(a.now())})
	})
}

func (a *app) printEvent(e svc.Event) error {
	switch a.output {
	case "json", "jsonl":
		return printLines(a.out, []svc.Event{e})
	case "name":
		_, err := fmt.Fprintln(a.out, e.Seq)
		return err
	}
	st := a.stylesFor(a.out)
	_, err := fmt.Fprintf(a.out, "%6d  %s  %-24s  %s\n", e.Seq, st.dim.Render(a.clock(e.CreatedAt)), e.Topic, about(e))
	return err
}

// clock is an event's time: of the day for a person.
func (a *app) clock(t svc.Time) string {
	if a.human() {
		return t.Std().Local().Format("15:04:05")
	}
	return t.String()
}

func (a *app) eventView() view[svc.Event] {
	return view[svc.Event]{
		name:  func(e svc.Event) string { return fmt.Sprint(e.Seq) },
		empty: "nothing happened yet",
		columns: []column[svc.Event]{
			{head: "SEQ", cell: func(e svc.Event) string { return fmt.Sprint(e.Seq) }},
			{head: "WHEN", cell: func(e svc.Event) string { return a.when(&e.CreatedAt) }},
			{head: "TOPIC", cell: func(e svc.Event) string { return string(e.Topic) }},
			{head: "ABOUT", cell: about, flex: true},
		},
	}
}

// aboutKeys are the parts of a payload that a person looks for, in this order.
var aboutKeys = []string{"name", "slug", "title", "status", "provider", "attempt", "exit_code", "result", "message", "error", "failure_reason", "reason", "run_id", "task_id"}

// about is an event's payload in a line.
func about(e svc.Event) string {
	var payload map[string]any
	if json.Unmarshal(e.Payload, &payload) != nil {
		return ""
	}
	var words []string
	for _, k := range aboutKeys {
		if v, ok := payload[k]; ok && v != nil && v != "" {
			words = append(words, fmt.Sprintf("%s=%v", k, v))
		}
	}
	return oneLine(strings.Join(words, " "))
}
