package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

// spawned returns the names of the runs that were placed, in order.
func (s *site) spawned(names map[string]string) (out []string) {
	s.t.Helper()
	s.settle()
	for _, e := range s.news() {
		if e.Topic == svc.TopicRunSpawning {
			out = append(out, names[field(e, "run_id").(string)])
		}
	}
	return out
}

// end finishes a placed run.
func (s *site) end(r svc.Run) {
	s.t.Helper()
	s.want(svc.Applied)(s.signal(s.get(r), svc.SignalStarted))
	s.want(svc.Applied)(s.signal(s.get(r), svc.SignalFinished))
	s.settle()
}

func slots(n int) func(*svc.NewHost) { return func(h *svc.NewHost) { h.MaxRuns = &n } }

func onTask(w svc.WorkItem) func(*svc.NewRun) { return func(n *svc.NewRun) { n.TaskID = w.ID } }

func TestTheQueueGoesByPriorityAndProjectsTakeTurns(t *testing.T) {
	bubble(t, func(s *site) {
		names, runs := map[string]string{}, map[string]svc.Run{}
		a, b := s.task(s.project()), s.task(s.project())
		add := func(name string, task svc.WorkItem, priority int) {
			r := s.run(onTask(task), func(n *svc.NewRun) { n.Priority, n.Wait = priority, true })
			names[r.ID], runs[name] = name, r
			s.pass(time.Second)
		}
		add("a1", a, 0)
		add("a2", a, 0)
		add("a3", a, 0)
		add("a-high", a, 1)
		add("b1", b, 0)
		add("b2", b, 0)
		add("b-low", b, -1)
		want := []string{"a-high", "b1", "a1", "b2", "a2", "a3", "b-low"}
		list, err := s.QueuedRuns(s.ctx, svc.RunFilter{}, svc.Page{Limit: 100})
		s.no(err)
		var got []string
		for i, r := range list.Items {
			got = append(got, names[r.ID])
			d, err := s.RunDetail(s.ctx, r.ID)
			if s.no(err); d.Waiting.Position == nil || *d.Waiting.Position != i+1 || len(d.Waiting.Why) != 0 || d.Waiting.TimesOutAt != nil {
				t.Errorf("%s is at %d: %+v", names[r.ID], i+1, d.Waiting)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the queue is %v, want %v", got, want)
		}
		s.news()
		s.online("h", slots(1))
		for _, name := range want {
			if got := s.spawned(names); !slices.Equal(got, []string{name}) {
				t.Fatalf("placed %v, want %s", got, name)
			}
			s.end(runs[name])
		}
	})
}

func TestAFullProjectHoldsItsOwnRunsBackAndNoOthers(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		_, err := s.UpdateProject(s.ctx, p.ID, svc.ProjectPatch{MaxRuns: &svc.MaxRunsChange{Max: ptr(1)}}, nil)
		s.no(err)
		task := s.task(p)
		h := s.online("h")
		first := s.run(onTask(task))
		s.settle()
		second, other := s.run(onTask(task)), s.run()
		s.settle()
		s.wantStatus(first, svc.RunSpawning)
		s.wantStatus(other, svc.RunSpawning)
		s.wantStatus(second, svc.RunPending)
		s.pass(6 * time.Minute) // the wait that the limit imposes does not count
		d, err := s.RunDetail(s.ctx, second.ID)
		s.no(err)
		if d.Status != svc.RunPending || len(d.Waiting.Why) != 1 || d.Waiting.Why[0].Code != svc.HoldProjectFull || d.Waiting.Position != nil {
			t.Errorf("%s waits: %+v", d.Status, d.Waiting)
		}
		h.beat()
		s.end(first)
		s.wantStatus(second, svc.RunSpawning)
	})
}

func TestLabelsChooseHosts(t *testing.T) {
	bubble(t, func(s *site) {
		plain := s.online("plain")
		gpu := s.online("gpu", func(h *svc.NewHost) { h.Labels = map[string]string{"gpu": "yes", "os": "linux"} })
		r := s.run(func(n *svc.NewRun) { n.HostLabels = map[string]string{"gpu": "yes"} })
		none := s.run(func(n *svc.NewRun) { n.HostLabels = map[string]string{"gpu": "no"} })
		s.settle()
		if got := s.wantStatus(r, svc.RunSpawning); *got.HostID != gpu.host.ID {
			t.Errorf("it went to %s", *got.HostID)
		}
		d, err := s.RunDetail(s.ctx, none.ID)
		if s.no(err); len(d.Waiting.Hosts) != 2 || d.Waiting.Hosts[0].Why != "labels_missing" || d.Waiting.HostsTotal != 2 {
			t.Errorf("waits %+v", d.Waiting)
		}
		_ = plain
		s.pass(6 * time.Minute)
		if got := s.wantStatus(none, svc.RunFailed); *got.FailureReason != svc.ReasonNoEligibleHost {
			t.Errorf("it failed with %s", *got.FailureReason)
		}
	})
}

func TestARunWaitsForItsTimeAndAsLongAsItTakes(t *testing.T) {
	bubble(t, func(s *site) {
		at := s.now().Add(8 * time.Minute)
		later := s.run(func(n *svc.NewRun) { n.NotBefore = &at })
		patient := s.run(func(n *svc.NewRun) { n.Wait = true })
		held, until := s.run(), svc.HeldUntil
		_, err := s.UpdateRun(s.ctx, held.ID, svc.RunPatch{NotBefore: ptr(&until)}, nil)
		s.no(err)
		s.pass(6 * time.Minute)
		d, err := s.RunDetail(s.ctx, held.ID)
		if s.no(err); d.Status != svc.RunPending || len(d.Waiting.Why) != 1 || !strings.Contains(d.Waiting.Why[0].Message, "held") || d.Waiting.TimesOutAt != nil {
			t.Errorf("a held run is %s and waits %+v", d.Status, d.Waiting)
		}
		_, err = s.UpdateRun(s.ctx, held.ID, svc.RunPatch{NotBefore: new(*svc.Time)}, nil)
		s.no(err)
		s.settle()
		s.wantStatus(held, svc.RunPending) // the time in which it was held does not count
		d, err = s.RunDetail(s.ctx, later.ID)
		if s.no(err); d.Status != svc.RunPending || len(d.Waiting.Why) != 1 || d.Waiting.Why[0].Code != svc.HoldNotBefore || d.Waiting.Position != nil {
			t.Errorf("%s waits %+v", d.Status, d.Waiting)
		}
		s.wantStatus(patient, svc.RunPending)
		h := s.online("h")
		s.settle()
		s.wantStatus(patient, svc.RunSpawning)
		s.wantStatus(held, svc.RunSpawning)
		s.wantStatus(later, svc.RunPending)
		s.pass(2*time.Minute - time.Second)
		h.beat()
		s.settle()
		s.wantStatus(later, svc.RunPending)
		s.pass(time.Second + 10*time.Millisecond)
		s.wantStatus(later, svc.RunSpawning)
	})
}

func TestAWaitingRunIsPatchedAndNoOther(t *testing.T) {
	bubble(t, func(s *site) {
		r := s.run()
		s.news()
		got, err := s.UpdateRun(s.ctx, r.ID, svc.RunPatch{Priority: ptr(2), Wait: ptr(true)}, nil)
		if s.no(err); got.Priority != 2 || !got.Wait || got.Version == r.Version {
			t.Errorf("became %+v", got)
		}
		s.wantTopics(svc.TopicRunUpdated)
		_, err = s.UpdateRun(s.ctx, r.ID, svc.RunPatch{Priority: ptr(2)}, nil)
		s.no(err)
		s.wantTopics()
		_, err = s.UpdateRun(s.ctx, r.ID, svc.RunPatch{Priority: ptr(3)}, nil)
		s.wantCode("a priority of 3", err, svc.CodeValidation)
		s.pass(6 * time.Minute)
		s.wantStatus(r, svc.RunPending)
		again, err := s.Rerun(s.ctx, r.ID, func(n *svc.NewRun) error { n.Model = "other"; return nil })
		if s.no(err); again.ID == r.ID || again.Priority != 2 || !again.Wait || again.Model != "other" || again.TaskID != r.TaskID || again.Prompt != r.Prompt {
			t.Errorf("made again as %+v", again)
		}
		_, err = s.StopRun(s.ctx, r.ID)
		s.no(err)
		_, err = s.UpdateRun(s.ctx, r.ID, svc.RunPatch{Priority: ptr(1)}, nil)
		s.wantCode("a stopped run", err, svc.CodeRunNotPending)
	})
}

func TestManyRunsAreStoppedAtOnce(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		top := s.task(p)
		below := s.task(p, func(n *svc.NewWorkItem) { n.ParentID = &top.ID })
		var in []string
		for i := range stopUnit + 3 {
			in = append(in, s.run(onTask([]svc.WorkItem{top, below}[i%2])).ID)
		}
		out := s.run()
		got, err := s.StopRuns(s.ctx, StopScope{TaskID: top.ID})
		s.no(err)
		slices.Sort(in)
		slices.Sort(got.Stopped)
		if !slices.Equal(got.Stopped, in) || len(got.Skipped) != 0 {
			t.Errorf("stopped %d of %d, skipped %v", len(got.Stopped), len(in), got.Skipped)
		}
		s.wantStatus(out, svc.RunPending)
		got, err = s.StopRuns(s.ctx, StopScope{RunIDs: []string{in[0], out.ID, svc.NewID()}})
		if s.no(err); fmt.Sprint(got.Stopped) != fmt.Sprint([]string{out.ID}) || len(got.Skipped) != 2 {
			t.Errorf("then %+v", got)
		}
		counts, err := s.CountRuns(s.ctx, svc.RunFilter{ProjectID: p.ID})
		if want := (svc.RunCounts{Stopped: len(in)}); err != nil || counts != want {
			t.Errorf("counted %+v, %v", counts, err)
		}
		for _, bad := range []StopScope{{}, {TaskID: top.ID, ProjectID: p.ID}, {RunIDs: []string{}}, {RunIDs: []string{"x"}}, {HostID: svc.NewID()}} {
			_, err := s.StopRuns(s.ctx, bad)
			s.wantCode(fmt.Sprintf("%+v", bad), err, svc.CodeValidation)
		}
	})
}
