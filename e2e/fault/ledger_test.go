package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// entry is a write that was answered, with the topic of its event.
type entry struct {
	topic svc.Topic
	id    string // of the project, work item or run
}

// ledger is the list of all answered writes.
type ledger struct {
	mu      sync.Mutex // guards the rest
	entries []entry
	checked int // number of entries that check has compared already
}

func (l *ledger) add(topic svc.Topic, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{topic, id})
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// subject returns the id of the run, work item or project that an event is about.
func subject(e proctest.Event) string {
	for _, member := range []string{"run_id", "task_id", "project_id"} {
		if id := e.Text(member); id != "" {
			return id
		}
	}
	return ""
}

// check compares the answered writes with the journal, and those since the last check with the records.
func (l *ledger) check(t *testing.T, c *api.Client, f *proctest.Follower) {
	t.Helper()
	l.mu.Lock()
	want, fresh := map[entry]int{}, l.entries[l.checked:]
	for _, e := range l.entries {
		want[e]++
	}
	fresh = fresh[:len(fresh):len(fresh)]
	l.checked = len(l.entries)
	l.mu.Unlock()
	f.Await(waittest.Patience, "every answered write has its event", func(events []proctest.Event) bool {
		have := map[entry]int{}
		for _, e := range events {
			have[entry{e.Topic, subject(e)}]++
		}
		for e, n := range want {
			if have[e] < n {
				return false
			}
		}
		return true
	})
	for _, e := range fresh {
		if err := stillThere(t.Context(), c, e); err != nil {
			t.Errorf("%s of %s was answered, and after the crash: %v", e.topic, e.id, err)
		}
	}
}

// stillThere reads the record that a write changed, and returns an error if the change is missing.
func stillThere(ctx context.Context, c *api.Client, e entry) error {
	var err error
	switch e.topic {
	case svc.TopicProjectCreated:
		_, err = c.Project(ctx, e.id)
	case svc.TopicRunCreated:
		_, err = c.Run(ctx, e.id)
	case svc.TopicRunStopped:
		var r svc.Run
		if r, err = c.Run(ctx, e.id); err == nil && r.Status != svc.RunStopped {
			err = fmt.Errorf("the run is %s", r.Status)
		}
	case svc.TopicItemDeleted:
		if _, err = c.WorkItem(ctx, e.id); svc.CodeOf(err) == svc.CodeNotFound {
			return nil
		}
		err = errors.Join(errors.New("the item is still there"), err)
	}
	return err
}

// checkNothingElse checks that the journal has no event without an answered write, and none twice. It
// is called after the writers have stopped, when all their writes have been answered.
func (l *ledger) checkNothingElse(t *testing.T, f *proctest.Follower) {
	t.Helper()
	want := map[entry]int{}
	for _, e := range l.entries {
		want[e]++
	}
	for _, e := range f.Events() {
		k := entry{e.Topic, subject(e)}
		if want[k]--; want[k] < 0 {
			t.Errorf("seq %d, %s of %s, has no answered write or is a duplicate", e.Seq, k.topic, k.id)
		}
	}
}

// writer sends one write after the other, and adds each to the ledger when it was answered.
type writer struct {
	client  *api.Client
	ledger  *ledger
	name    string
	random  *rand.Rand
	project string
	tasks   []string
	runs    []string
	count   int
}

func (w *writer) work(ctx context.Context) {
	for ctx.Err() == nil {
		w.count++
		switch n := w.random.IntN(10); {
		case w.project == "" || n == 0:
			w.newProject()
		case len(w.tasks) == 0 || n < 4:
			w.newTask()
		case n < 6:
			w.newRun()
		case n < 8:
			w.rename()
		case n == 8 && len(w.runs) > 0:
			w.stopRun()
		case n == 9 && len(w.tasks) > 3:
			w.deleteTask()
		}
	}
}

// answered repeats a write until it is answered. All tries have the same idempotency key, so the
// write cannot be executed twice. answered ignores the end of the test's context, because a write
// without a response may have been executed.
func (w *writer) answered(write func(context.Context) error) error {
	ctx := api.WithIdempotencyKey(context.Background(), fmt.Sprintf("%s-%d", w.name, w.count))
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := write(try)
		cancel()
		var refused *svc.Error
		if err == nil || errors.As(err, &refused) && refused.Code != svc.CodeUnavailable {
			return err
		}
		proctest.Pause(retryPause)
	}
}

func (w *writer) recordWrite(topic svc.Topic, id *string, write func(context.Context) error) bool {
	if err := w.answered(write); err != nil {
		w.ledger.add(svc.Topic("refused: "+err.Error()), w.name) // makes check fail: no event has this topic
		return false
	}
	w.ledger.add(topic, *id)
	return true
}

func (w *writer) newProject() {
	var p svc.Project
	if w.recordWrite(svc.TopicProjectCreated, &p.ID, func(ctx context.Context) (err error) {
		p, err = w.client.CreateProject(ctx, api.CreateProject{Name: fmt.Sprintf("%s %d", w.name, w.count)})
		return err
	}) {
		w.project, w.tasks, w.runs = p.ID, nil, nil
	}
}

func (w *writer) newTask() {
	var item svc.WorkItem
	if w.recordWrite(svc.TopicItemCreated, &item.ID, func(ctx context.Context) (err error) {
		item, err = w.client.CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: w.project, Kind: svc.KindTask, Title: fmt.Sprintf("task %d", w.count)})
		return err
	}) {
		w.tasks = append(w.tasks, item.ID)
	}
}

func (w *writer) newRun() {
	var r svc.Run
	if w.recordWrite(svc.TopicRunCreated, &r.ID, func(ctx context.Context) (err error) {
		r, err = w.client.CreateRun(ctx, api.CreateRun{TaskID: w.tasks[0], Provider: "sh", Prompt: api.Some("true")})
		return err
	}) {
		w.runs = append(w.runs, r.ID)
	}
}

// rename changes a title. An idempotency key has no effect on this request; the same change a second
// time changes nothing and journals nothing.
func (w *writer) rename() {
	id := w.tasks[w.random.IntN(len(w.tasks))]
	w.recordWrite(svc.TopicItemUpdated, &id, func(ctx context.Context) error {
		_, err := w.client.UpdateWorkItem(ctx, id, api.PatchWorkItem{Title: api.Some(fmt.Sprintf("renamed %d", w.count))})
		return err
	})
}

func (w *writer) stopRun() {
	id := w.runs[0]
	w.runs = w.runs[1:]
	w.recordWrite(svc.TopicRunStopped, &id, func(ctx context.Context) error {
		_, err := w.client.StopRun(ctx, id)
		return err
	})
}

// deleteTask deletes a task. An idempotency key has no effect on this request either; a second delete
// returns not_found.
func (w *writer) deleteTask() {
	id := w.tasks[len(w.tasks)-1]
	w.tasks = w.tasks[:len(w.tasks)-1]
	w.recordWrite(svc.TopicItemDeleted, &id, func(ctx context.Context) error {
		err := w.client.DeleteWorkItem(ctx, id, false, false)
		if svc.CodeOf(err) == svc.CodeNotFound {
			return nil
		}
		return err
	})
}
