package soak

import (
	"fmt"
	"reflect"

	"svc"
)

// rule is one promise, and a function that finds its violations.
type rule struct {
	name string
	find func(*file, complaint)
}

// complaint adds one violation. Its message names the run and the evidence.
type complaint func(format string, args ...any)

// rules are all rules of the judge. TestTheJudgeFindsEverySeededViolation proves that each of them can
// fail.
var rules = []rule{
	{"acknowledged writes exist once", writesOnce},
	{"the journal has no gap and is the same for all readers", oneJournal},
	{"an attempt is started once, on the host that it was given to", startedOnce},
	{"an attempt has one end", oneEnd},
	{"nothing of an attempt follows its end", nothingAfterTheEnd},
	{"ends are what really happened", trueEnds},
	{"a waiting run is not failed while there are hosts", waitingIsNotFailing},
	{"every run comes to its end", allEnded},
	{"the sums of output are the log's length", outputSums},
	{"the relayed log is the host's", sameLogs},
	{"the log is what the agent printed", trueLogs},
	{"the log is complete when the end is journaled", completeAtEnd},
	{"the last screen is kept", lastScreens},
	{"keys are typed once", keysOnce},
	{"reports of agents arrive in order", reportsArrive},
	{"a connected host is not offline", connectedIsOnline},
	{"nothing is left behind on hosts", nothingLeft},
	{"answers are those of the contract", goodAnswers},
}

// file is the evidence, with an index of the events.
type file struct {
	*evidence
	events map[attempt][]event // the events of each attempt, in order
}

// violation is a promise that was broken.
type violation struct{ rule, what string }

func (v violation) String() string { return fmt.Sprintf("[%s] %s", v.rule, v.what) }

// judge applies every rule and returns the violations.
func judge(v *evidence) []violation {
	f := &file{evidence: v, events: map[attempt][]event{}}
	for _, e := range v.Journal {
		if a := e.attempt(); a.Run != "" {
			f.events[a] = append(f.events[a], e)
		}
	}
	var found []violation
	for _, r := range rules {
		r.find(f, func(format string, args ...any) {
			found = append(found, violation{r.name, fmt.Sprintf(format, args...)})
		})
	}
	return found
}

// eventsOf returns the events of one attempt with certain topics.
func (f *file) eventsOf(a attempt, topics ...svc.Topic) []event {
	var found []event
	for _, e := range f.events[a] {
		if contains(topics, e.Topic) {
			found = append(found, e)
		}
	}
	return found
}

// stopped reports whether a client stopped this attempt.
func (f *file) stopped(a attempt) bool { return len(f.eventsOf(a, svc.TopicRunStopped)) > 0 }

// host returns the name of the host to which an attempt was dispatched last; empty: none.
func (f *file) host(a attempt) string {
	given := f.eventsOf(a, svc.TopicRunSpawning)
	if len(given) == 0 {
		return ""
	}
	return f.Hosts[given[len(given)-1].text("host_id")]
}

// diskWasFull reports whether a full disk on its host may have disturbed an agent.
func (f *file) diskWasFull(a attempt) bool {
	t, ok := f.Truth[a]
	if !ok {
		given := f.eventsOf(a, svc.TopicRunSpawning)
		return len(given) > 0 && f.full(f.host(a), given[0].At, given[len(given)-1].At)
	}
	return f.full(f.host(a), t.From, t.To)
}

// writesOnce compares the ledger with the records and the journal. Every request was repeated until it
// was answered, so the ledger contains every executed request.
func writesOnce(f *file, complain complaint) {
	events := map[svc.Topic]map[string]int{}
	total := map[svc.Topic]int{}
	for _, e := range f.Journal {
		id := e.text("run_id")
		if id == "" {
			id = e.text("task_id")
		}
		if events[e.Topic] == nil {
			events[e.Topic] = map[string]int{}
		}
		events[e.Topic][id]++
		total[e.Topic]++
	}
	items := map[string]svc.WorkItem{}
	for _, item := range f.Items {
		if _, twice := items[item.ID]; twice {
			complain("item %s is listed twice", item.ID)
		}
		items[item.ID] = item
	}
	titles, deleted := map[string]string{}, map[string]bool{}
	once := func(w write, topic svc.Topic) {
		if n := events[topic][w.ID]; n != 1 {
			complain("%s %s (%s): %s is %d times in the journal", w.What, w.ID, w.Mark, topic, n)
		}
	}
	created := map[svc.Topic]int{}
	for _, w := range f.Ledger {
		switch w.What {
		case wroteItem:
			once(w, svc.TopicItemCreated)
			created[svc.TopicItemCreated]++
			titles[w.ID] = w.Mark
		case wroteTitle:
			titles[w.ID] = w.Mark
		case wroteDelete:
			once(w, svc.TopicItemDeleted)
			deleted[w.ID] = true
		case wroteRun:
			once(w, svc.TopicRunCreated)
			created[svc.TopicRunCreated]++
			if _, ok := f.Runs[w.ID]; !ok {
				complain("%s %s (%s): there is no record", w.What, w.ID, w.Mark)
			}
		case wroteStop:
			once(w, svc.TopicRunStopped)
			if r := f.Runs[w.ID]; r.Status != svc.RunStopped {
				complain("%s %s: the run is %s", w.What, w.ID, r.Status)
			}
		}
	}
	for topic, n := range created {
		if total[topic] != n {
			complain("%d times %s in the journal, %d acknowledged", total[topic], topic, n)
		}
	}
	for id, title := range titles {
		switch item, ok := items[id]; {
		case ok == deleted[id]:
			complain("item %s (%s): deleted: %v, record exists: %v", id, title, deleted[id], ok)
		case ok && item.Title != title:
			complain("item %s has the title %q, the acknowledged title is %q", id, item.Title, title)
		}
	}
}

// oneJournal compares the listed journal with the events that each reader of the stream received.
func oneJournal(f *file, complain complaint) {
	for i, e := range f.Journal {
		if e.Seq != int64(i)+1 {
			complain("the journal has seq %d, want %d", e.Seq, i+1)
			break
		}
	}
	for name, got := range f.Readers {
		if len(got) != len(f.Journal) {
			complain("the reader %s got %d events of %d", name, len(got), len(f.Journal))
		}
		for i := range min(len(got), len(f.Journal)) {
			want := f.Journal[i]
			if got[i].Seq != want.Seq || got[i].Topic != want.Topic || !reflect.DeepEqual(got[i].Payload, want.Payload) {
				complain("the reader %s got %v, the journal has %v", name, got[i], want)
				break
			}
		}
	}
}

// goodAnswers complains about responses that no client should receive, such as a 500.
func goodAnswers(f *file, complain complaint) {
	for _, answer := range f.Answers {
		complain("%s", answer)
	}
}
