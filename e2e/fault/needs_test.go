package fault

import (
	"slices"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestAMetNeedStartsItsRunOnceThoughTheOrchestratorIsKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	killAtEveryStep(t, proctest.ServeOptions{})
}

func TestAMetNeedStartsItsRunOnceThoughTheOrchestratorIsKilledAtEveryStepOnPostgreSQL(t *testing.T) {
	t.Parallel()
	if !proctest.Long() {
		t.Skip("it takes a minute, and runs on SQLite each time; " + proctest.LongEnv + "=1 runs it on PostgreSQL too")
	}
	killAtEveryStep(t, proctest.ServeOptions{Database: pgtest.Start(t)})
}

// killAtEveryStep queues runs of tasks that need other tasks. It kills the orchestrator as soon as the journal has the
// event of a step: a run was placed, has started, reported completion or ended, its task was marked as done, or the
// next task was unblocked.
func killAtEveryStep(t *testing.T, options proctest.ServeOptions) {
	options.Config = "[runs]\nack_timeout = \"1s\"\n"
	s := newSite(t, options)
	tasks := s.diamonds(shortOrLong(2, 6))
	runs := map[string]string{}                // by task
	for _, w := range slices.Backward(tasks) { // the run that must wait longest is created first
		runs[w.id] = s.run("svc exec signal completed --result success", func(b *api.CreateRun) {
			b.TaskID, b.Wait = w.id, api.Some(true)
		}).ID
	}
	s.worker(proctest.WorkerOptions{Name: "one"})
	steps := []svc.Topic{svc.TopicRunSpawning, svc.TopicRunStarted, svc.TopicRunSignal, svc.TopicItemStatus, svc.TopicItemUnblocked, svc.TopicRunFinished}
	var seen int64
	for round := range shortOrLong(6, 60) {
		topic, told := steps[round%len(steps)], int64(0)
		over := false
		s.follower.Await(waittest.Patience, string(topic), func(events []proctest.Event) bool {
			over = len(s.count(events, svc.TopicRunFinished)) == len(tasks)
			for _, e := range s.count(events, topic) {
				if e.Seq > seen {
					told = e.Seq
					return true
				}
			}
			return over
		})
		if over {
			break
		}
		seen = told
		s.o.Kill()
		s.o.Start()
	}
	for _, w := range tasks {
		s.follower.AwaitRun(runs[w.id], svc.TopicRunFinished)
		s.wantOneLife(runs[w.id], 0)
		placed := s.follower.Of(runs[w.id], svc.TopicRunSpawning)
		if len(placed) != 1 {
			t.Errorf("run %s was placed %d times", runs[w.id], len(placed))
			continue
		}
		for _, need := range w.needs {
			done := s.follower.Where(func(e proctest.Event) bool {
				return e.Topic == svc.TopicItemStatus && e.Text("task_id") == need && e.Text("status") == string(svc.ItemDone)
			})
			if len(done) != 1 || done[0].Seq > placed[0].Seq {
				t.Errorf("run %s was placed at %d, and what it needs is done at %v", runs[w.id], placed[0].Seq, done)
			}
		}
		if got := s.count(s.follower.Where(func(e proctest.Event) bool { return e.Text("task_id") == w.id }), svc.TopicItemUnblocked); len(got) != min(len(w.needs), 1) {
			t.Errorf("task %s with %d needs was unblocked %d times", w.id, len(w.needs), len(got))
		}
	}
}

func (s *site) count(events []proctest.Event, topic svc.Topic) (found []proctest.Event) {
	for _, e := range events {
		if e.Topic == topic {
			found = append(found, e)
		}
	}
	return found
}

type taskWithNeeds struct {
	id    string
	needs []string
}

// diamonds creates tasks that the completion of their run marks as done: one task, two that need it, one that needs
// both, and so on, n times.
func (s *site) diamonds(n int) (all []taskWithNeeds) {
	s.t.Helper()
	add := func(needs ...string) string {
		item, err := s.client.CreateWorkItem(s.t.Context(), api.CreateWorkItem{ProjectID: s.project, Kind: svc.KindTask, Title: "work", AutoMarkDone: api.Some(true)})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, other := range needs {
			if err := s.client.AddNeed(s.t.Context(), item.ID, other); err != nil {
				s.t.Fatal(err)
			}
		}
		all = append(all, taskWithNeeds{item.ID, needs})
		return item.ID
	}
	top := add()
	for range n {
		top = add(add(top), add(top))
	}
	return all
}
