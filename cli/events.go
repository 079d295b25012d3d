package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) eventsCommand() *cobra.Command {
	var (
		follow bool
		topics []string
		of     subjects
		not    []string
		since  string
		limit  int
	)
	cmd := &cobra.Command{
		Use: "events", Short: "Print the journal of what happened", Args: takes(),
		Long: "Print the journal of what happened, oldest first. With -f it goes on with what happens; with --since it begins\n" +
			"there, else with the last few. That a run wrote something (run.output_appended) is left out unless --topic\n" +
			"names it.",
		Example: "  svc events -f --topic 'run.*'\n  svc events --run 1a2b3c4d\n  svc events --since 10m --not 'worker.*'\n  svc events --since 1200 -o jsonl",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		globs, err := svc.ParseGlobs(topics)
		if err != nil {
			return err
		}
		filter := svc.EventFilter{Topics: globs}
		if filter.Subjects, err = a.subjects(ctx, c, of); err != nil {
			return err
		}
		show, err := shownTopics(topics, not)
		if err != nil {
			return err
		}
		begin, err := a.beginOfEvents(since)
		if err != nil {
			return err
		}
		if since != "" {
			limit = 0
		}
		past, err := eventsSince(ctx, c, filter, show, begin, limit)
		if err != nil {
			return err
		}
		if !follow {
			return printList(a, a.eventView(), past)
		}
		return a.followEvents(ctx, c, filter, show, begin.after, past)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "only these topics; `GLOB` such as run.*; may be repeated")
	of.flags(a, cmd)
	cmd.Flags().StringSliceVar(&not, "not", nil, "none of these topics; `GLOB` such as worker.*; may be repeated")
	cmd.Flags().StringVar(&since, "since", "", "only after this `PLACE`: the seq of an event, how long ago, such as 10m, or an instant as in 2006-01-02T15:04:05Z")
	addLimit(cmd, &limit, 20)
	return a.both(cmd)
}

// subjects is what events are asked for, as a person names it.
type subjects struct{ project, task, run, host string }

func (s *subjects) flags(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.project, "project", "p", "", "only of this `PROJECT`")
	cmd.Flags().StringVar(&s.task, "task", "", "only of this `TASK`, with those of its runs")
	cmd.Flags().StringVar(&s.run, "run", "", "only of this `RUN`")
	cmd.Flags().StringVar(&s.host, "host", "", "only of this `HOST`")
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "task", taskNames)
	a.completeFlag(cmd, "run", runNames)
	a.completeFlag(cmd, "host", hostNames)
}

// subjects finds the ids of what is named. An id is taken as it is: the events
// of what was deleted are still there.
func (a *app) subjects(ctx context.Context, c *api.Client, s subjects) (out svc.Subjects, err error) {
	for _, by := range []struct {
		ref  string
		id   *string
		find func() (string, error)
	}{
		{s.project, &out.ProjectID, func() (string, error) { p, err := a.project(ctx, c, s.project); return p.ID, err }},
		{s.task, &out.TaskID, func() (string, error) { w, err := a.task(ctx, c, s.task); return w.ID, err }},
		{s.run, &out.RunID, func() (string, error) { r, err := a.theRun(ctx, c, s.run); return r.ID, err }},
		{s.host, &out.HostID, func() (string, error) { h, err := a.host(ctx, c, s.host); return h.ID, err }},
	} {
		switch {
		case svc.IsID(by.ref):
			*by.id = by.ref
		case by.ref != "":
			if *by.id, err = by.find(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// shownTopics says which events are worth showing, besides what the orchestrator is asked for.
func shownTopics(topics, not []string) (func(svc.Topic) bool, error) {
	unwanted, err := svc.ParseGlobs(not)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(topics, string(svc.TopicRunOutput)) {
		unwanted = append(unwanted, string(svc.TopicRunOutput))
	}
	return func(t svc.Topic) bool { return len(unwanted) == 0 || !unwanted.Match(t) }, nil
}

// beginning is where a list of events begins: behind an event, or at an instant.
type beginning struct {
	after *int64
	at    svc.Time
}

func (a *app) beginOfEvents(since string) (b beginning, err error) {
	if since == "" {
		return b, nil
	}
	if seq, err := strconv.ParseInt(since, 10, 64); err == nil && seq >= 0 {
		b.after = &seq
		return b, nil
	}
	b.at, err = a.instant(since)
	return b, err
}

// eventsSince is the newest part of the journal, oldest first.
func eventsSince(ctx context.Context, c *api.Client, f svc.EventFilter, show func(svc.Topic) bool, begin beginning, limit int) ([]svc.Event, error) {
	var events []svc.Event
	for e, err := range c.AllEvents(ctx, f) {
		if err != nil {
			return nil, err
		}
		if begin.after != nil && e.Seq <= *begin.after || e.CreatedAt < begin.at {
			break
		}
		if !show(e.Topic) {
			continue
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
func (a *app) followEvents(ctx context.Context, c *api.Client, f svc.EventFilter, show func(svc.Topic) bool, after *int64, past []svc.Event) error {
	for _, e := range past {
		if err := a.printEvent(e); err != nil {
			return err
		}
		after = &e.Seq
	}
	return c.Stream(ctx, api.StreamOptions{EventFilter: f, After: after, Lost: func(err error) {
		a.awayOnce(err)
	}}, func(m api.Message) error {
		if m.Topic == api.TopicSnapshot {
			a.note("events up to %d are no longer in the journal", m.Seq)
			return nil
		}
		if !show(m.Topic) {
			return nil
		}
		return a.printEvent(svc.Event{Seq: m.Seq, Topic: m.Topic, Payload: m.Data, CreatedAt: svc.TimeOf(a.now())})
	})
}

func (a *app) printEvent(e svc.Event) error {
	switch a.output {
	case "json", "jsonl":
		return printLines(a, []svc.Event{e})
	case "template":
		return a.printTemplate(e)
	case "name":
		a.out.println(e.Seq)
		return a.out.failed
	}
	st := a.stylesFor(a.out)
	a.out.printf("%6d  %s  %-24s  %s\n", e.Seq, st.dim.Render(a.clock(e.CreatedAt)), e.Topic, about(e))
	return a.out.failed
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
	return strings.Join(words, " ")
}
