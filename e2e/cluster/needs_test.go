package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
)

// needs makes the leader fail at a random moment, while requests to all orchestrators mark needed items as done and a
// change is landed.
func (s *site) needs(t *testing.T) {
	t.Helper()
	failures := []failure{{name: "killed", begin: kill, end: start}}
	if proctest.Long() {
		failures = append(failures, failure{name: "frozen", begin: freeze, end: wake}, failure{name: "drained", begin: drain, end: start})
	}
	for round := range rounds() {
		for _, f := range failures {
			mark := fmt.Sprintf("needs/%s/%d", f.name, round+1)
			if !s.in(t, mark, func() { s.finishNeedsDuring(f, mark) }) {
				return
			}
		}
	}
}

// waiter is a run whose task needs other items.
type waiter struct {
	run, task string
	needs     []string
}

// finishNeedsDuring marks one item as done through each orchestrator. For each item one run needs only this item, and
// one more run needs all of them.
func (s *site) finishNeedsDuring(f failure, mark string) {
	s.t.Helper()
	land, wantLandedOnce := s.change(mark)
	leader := s.m.Leader()
	var items []string
	for _, o := range s.m.All {
		items = append(items, s.newItem(mark+" by "+o.Name()))
	}
	waiters := []waiter{s.newWaiter(mark+" all", items...)}
	for i, item := range items {
		waiters = append(waiters, s.newWaiter(fmt.Sprintf("%s %d", mark, i), item))
	}
	var finished sync.WaitGroup
	for i, o := range s.m.All {
		direct := o.Client()
		finished.Go(func() { s.finish(direct, items[i]) })
	}
	var landed sync.WaitGroup
	landed.Go(land)
	moment := rand.N(300 * time.Millisecond)
	s.t.Logf("the leader fails after %v", moment)
	proctest.Pause(moment)
	f.begin(s, leader)
	finished.Wait() // a request to a frozen orchestrator times out, and is repeated at the balancer
	met := time.Now()
	for _, w := range waiters {
		s.awaitEnd(w.run)
	}
	s.logDuration("all waiting runs have ended after", time.Since(met), 15*time.Second)
	f.end(s, leader)
	landed.Wait()
	s.awaitAllReady()
	s.wantOrder(waiters)
	wantLandedOnce()
}

func (s *site) newItem(title string) string {
	s.t.Helper()
	return s.create(title, func(ctx context.Context) (string, error) { return s.item(ctx, s.client, title, nil) })
}

// newWaiter creates an item that needs other items, and a run of it.
func (s *site) newWaiter(mark string, needs ...string) waiter {
	s.t.Helper()
	w := waiter{task: s.newItem(mark + " task"), needs: needs}
	for _, other := range needs {
		if err := s.client.AddNeed(s.t.Context(), w.task, other); err != nil {
			s.t.Fatal(err)
		}
	}
	w.run = s.runOf(mark, w.task, "echo met")
	return w
}

// finish marks an item as done through one orchestrator. It repeats a failed request through the balancer.
func (s *site) finish(by *api.Client, item string) {
	t := s.t
	c := &caller{limit: 10 * time.Second, fails: func(what string, err error) {
		if !transient(err) {
			t.Errorf("%s failed: %v", what, err)
		}
	}}
	c.retry("finishing item "+item, func(ctx context.Context) error {
		_, err := by.UpdateWorkItem(api.WithIdempotencyKey(ctx, "finish "+item), item, api.PatchWorkItem{Status: api.Some(svc.ItemDone)})
		by = s.client
		return err
	})
}

// wantOrder fails the test unless each waiter was unblocked once, and placed once after all its needs were done.
func (s *site) wantOrder(waiters []waiter) {
	s.t.Helper()
	reader := s.readers["balancer"]
	of := func(topic svc.Topic, task string) []proctest.Event {
		return reader.Where(func(e proctest.Event) bool { return e.Topic == topic && e.Text("task_id") == task })
	}
	for _, w := range waiters {
		reader.AwaitRun(w.run, svc.TopicRunFinished)
		placed, unblocked := reader.Of(w.run, svc.TopicRunSpawning), of(svc.TopicItemUnblocked, w.task)
		if len(placed) != 1 || len(unblocked) != 1 {
			s.t.Errorf("run %s was placed %d times, its task unblocked %d times", w.run, len(placed), len(unblocked))
			continue
		}
		for _, need := range w.needs {
			done := of(svc.TopicItemStatus, need)
			if len(done) != 1 || done[0].Seq > placed[0].Seq {
				s.t.Errorf("run %s was placed at %d, and what it needs is done at %v", w.run, placed[0].Seq, done)
			}
		}
	}
}
