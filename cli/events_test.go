package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc"
)

// journalServer is an orchestrator with a journal of one run, oldest event first. The newest events are only sent on
// the stream.
func journalServer(t *testing.T, purgedBefore *svc.Time, events []svc.Event, streamed int) string {
	t.Helper()
	connections := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := events[:len(events)-streamed]
		if r.URL.Path == "/api/v1/events/stream" {
			if connections++; connections > 1 { // ends the command that follows
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"error":{"code":"forbidden","message":"it is over"}}`))
				return
			}
			streamed = 0 // from now on the list has the streamed events too
			for _, e := range events {
				if fmt.Sprint(e.Seq) > r.Header.Get("Last-Event-ID") {
					fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Topic, e.Payload)
				}
			}
			return
		}
		list := svc.EventList{Items: []svc.Event{}, PurgedBefore: purgedBefore}
		for i := range known {
			list.Items = append(list.Items, known[len(known)-1-i])
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func runEvent(seq int64, topic svc.Topic) svc.Event {
	return svc.Event{Seq: seq, Topic: topic, Payload: json.RawMessage(`{"run_id":"` + svc.NewRunID() + `"}`), CreatedAt: svc.Time(seq * 1000)}
}

// That retention has removed events is printed, but only for a subject that is older than the removed events.
func TestEventsSayWhatWasRemoved(t *testing.T) {
	t.Parallel()
	id, purged := svc.NewRunID(), svc.Time(3000)
	rest, whole := []svc.Event{runEvent(4, svc.TopicRunFinished)}, []svc.Event{runEvent(4, svc.TopicRunCreated), runEvent(5, svc.TopicRunFinished)}
	const removed, none, yet = "events before 1970-01-01T00:00:03.000Z were removed", "there are no such events", "nothing happened yet"
	for name, c := range map[string]struct {
		purged   *svc.Time
		events   []svc.Event
		args     []string
		want     string
		unwanted []string
	}{
		"all of an old run":         {&purged, nil, []string{"--run", id}, removed, []string{yet}},
		"the beginning of one":      {&purged, rest, []string{"--run", id}, removed, []string{none, yet}},
		"nothing of a younger one":  {&purged, whole, []string{"--run", id}, "run.created", []string{removed}},
		"nothing since then":        {&purged, rest, []string{"--since", "1970-01-01T00:00:03Z"}, "run.finished", []string{removed}},
		"something since before":    {&purged, rest, []string{"--since", "1970-01-01T00:00:02Z"}, removed, []string{none}},
		"more than was asked for":   {&purged, rest, []string{"-n", "1"}, "run.finished", []string{removed}},
		"nothing at all, yet":       {nil, nil, nil, yet, []string{"removed"}},
		"none of the kind, no more": {nil, nil, []string{"--topic", "run.*"}, none, []string{"removed", yet}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printsOf(t, journalServer(t, c.purged, c.events, 0), append([]string{"events"}, c.args...)...)
			if !strings.Contains(got, c.want) {
				t.Errorf("%q is missing in\n%s", c.want, got)
			}
			for _, text := range c.unwanted {
				if strings.Contains(got, text) {
					t.Errorf("%q is in\n%s", text, got)
				}
			}
		})
	}
}

// A followed event has the time at which it happened, not the one at which it was read.
func TestFollowedEventsKeepTheirTime(t *testing.T) {
	t.Parallel()
	url := journalServer(t, nil, []svc.Event{runEvent(1, svc.TopicRunCreated), runEvent(2, svc.TopicRunStarted), runEvent(3, svc.TopicRunFinished)}, 2)
	got := printsOf(t, url, "events", "-f", "--since", "0", "--template", "{{.seq}} {{.created_at}}")
	if want := "1 1970-01-01T00:00:01.000Z\n2 1970-01-01T00:00:02.000Z\n3 1970-01-01T00:00:03.000Z\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
