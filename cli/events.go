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
		Use: "events", Short: "Print the events of the journal", Args: takes(),
		Long: "Print the events of the journal, oldest first. With -f it keeps printing new events; with --since it begins\n" +
			"there, else with the last few. Events about output (run.output_appended) are left out unless --topic\n" +
			"names them.",
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
		after := begin.after
		if follow && after == nil { // read before the list, so that no event is missed between the list and the stream
			head, err := c.Head(ctx)
			if err != nil {
				return err
			}
			after = &head
		}
		past, err := eventsSince(ctx, c, filter, show, begin, limit)
		if err != nil {
			return err
		}
		if past.lacks(begin.at) {
			defer a.note("events before %s were removed", past.purgedBefore)
		}
		if !follow {
			return printList(a, a.eventView(since != "" || len(not) > 0 || !filter.Everything()), past.events)
		}
		return a.followEvents(ctx, c, filter, show, *after, past.events)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new events")
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "only these topics; `GLOB` such as run.*; may be repeated")
	of.flags(a, cmd)
	cmd.Flags().StringSliceVar(&not, "not", nil, "none of these topics; `GLOB` such as worker.*; may be repeated")
	cmd.Flags().StringVar(&since, "since", "", "only after this `PLACE`: the seq of an event, how long ago, such as 10m, or an instant as in 2006-01-02T15:04:05Z")
	addLimit(cmd, &limit, 20)
	return a.both(cmd)
}

// subjects is what --project, --task, --run and --host name.
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

// subjects resolves names to ids. An id is not looked up, because the journal still has the events of records that
// were deleted.
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

// shownTopics returns a filter for topics. It is applied in addition to the filter that the orchestrator gets.
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

// beginning is where a list of events begins: after an event, or at an instant.
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

// pastEvents are events of the journal, oldest first.
type pastEvents struct {
	events       []svc.Event
	purgedBefore *svc.Time // events before this time were removed; nil: no requested event is known to be missing
}

// lacks reports whether requested events since from may have been removed.
func (p pastEvents) lacks(from svc.Time) bool { return p.purgedBefore != nil && from < *p.purgedBefore }

// eventsSince returns the newest events of the journal, oldest first: those after begin, and at most limit of them. A
// limit of 0 means no limit.
func eventsSince(ctx context.Context, c *api.Client, f svc.EventFilter, show func(svc.Topic) bool, begin beginning, limit int) (past pastEvents, err error) {
	defer func() { slices.Reverse(past.events) }()
	first := svc.Topic("") // the topic of the oldest event, whether or not it is shown
	for page := (svc.Page{Limit: svc.MaxLimit}); ; {
		list, err := c.Events(ctx, f, page)
		if err != nil {
			return past, err
		}
		for _, e := range list.Items {
			if begin.after != nil && e.Seq <= *begin.after || e.CreatedAt < begin.at {
				return past, nil
			}
			if first = e.Topic; !show(e.Topic) {
				continue
			}
			if past.events = append(past.events, e); len(past.events) == limit {
				return past, nil
			}
		}
		if list.NextCursor == nil {
			if !beginsWith(f.Subjects, first) {
				past.purgedBefore = list.PurgedBefore
			}
			return past, nil
		}
		page.Cursor = *list.NextCursor
	}
}

// beginsWith reports whether a topic is the topic of the very first event of a subject. If so, no event of it was
// removed.
func beginsWith(s svc.Subjects, topic svc.Topic) bool {
	for _, f := range s.Fields() {
		if *f.ID != "" {
			return topic == map[string]svc.Topic{"run_id": svc.TopicRunCreated, "task_id": svc.TopicItemCreated,
				"host_id": svc.TopicHostCreated, "project_id": svc.TopicProjectCreated}[f.Name]
		}
	}
	return false
}

// followEvents prints past events and then every new event. It prints no streamed event whose seq is at most after. A
// stream has no end at which a list could be printed, so its JSON is one line for each event.
func (a *app) followEvents(ctx context.Context, c *api.Client, f svc.EventFilter, show func(svc.Topic) bool, after int64, past []svc.Event) error {
	seen := after
	tell := func(events []svc.Event) error {
		for _, e := range events {
			if err := a.printEvent(e); err != nil {
				return err
			}
			seen = max(seen, e.Seq)
		}
		return nil
	}
	if err := tell(past); err != nil {
		return err
	}
	from := seen
	return c.Stream(ctx, api.StreamOptions{EventFilter: f, After: &from, Lost: a.awayOnce}, func(m api.Message) error {
		switch {
		case m.Topic == api.TopicSnapshot:
			a.note("events up to %d are no longer in the journal", m.Seq)
			seen = max(seen, m.Seq)
			return nil
		case m.Seq <= seen || !show(m.Topic):
			return nil
		}
		// A message has no time, and after a lost connection its event may be old. So the event is read from the journal.
		news, err := eventsSince(ctx, c, f, show, beginning{after: &seen}, 0)
		if err == nil {
			err = tell(news.events)
		}
		if err != nil || m.Seq <= seen {
			return err
		}
		return tell([]svc.Event{{Seq: m.Seq, Topic: m.Topic, Payload: m.Data, CreatedAt: svc.TimeOf(a.now())}}) // the event was removed meanwhile
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

// clock returns an event's time: only the time of day on a terminal.
func (a *app) clock(t svc.Time) string {
	if a.human() {
		return t.Std().Local().Format("15:04:05")
	}
	return t.String()
}

// eventView shows events. some says that a filter was given.
func (a *app) eventView(some bool) view[svc.Event] {
	empty := "nothing happened yet"
	if some {
		empty = "there are no such events"
	}
	return view[svc.Event]{
		name:  func(e svc.Event) string { return fmt.Sprint(e.Seq) },
		empty: empty,
		columns: []column[svc.Event]{
			{head: "SEQ", cell: func(e svc.Event) string { return fmt.Sprint(e.Seq) }},
			{head: "WHEN", cell: func(e svc.Event) string { return a.when(&e.CreatedAt) }},
			{head: "TOPIC", cell: func(e svc.Event) string { return string(e.Topic) }},
			{head: "ABOUT", cell: about, flex: true},
		},
	}
}

// aboutKeys are the keys of a payload that are shown, in this order.
var aboutKeys = []string{"name", "slug", "title", "status", "provider", "attempt", "exit_code", "result", "message", "error", "failure_reason", "reason", "run_id", "task_id"}

// about returns an event's payload as one line.
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
