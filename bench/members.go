package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
)

const (
	memberTurns   = 3
	memberAdmits  = 600 // runs in a turn
	memberCallers = 32
	memberEvents  = 150
	memberKeys    = 60
)

// members measures three orchestrators on one PostgreSQL beside one, in turns:
// what crosses from one to another costs time, and what they do side by side
// saves some.
func members(ctx context.Context, r *report) (err error) {
	t := &holder{}
	defer t.release()
	return t.try(func() {
		one, three := newMemberSite(t, 1), newMemberSite(t, 3)
		steps := []func(context.Context, *report, *memberSite, *memberSite) error{memberDispatch, memberEcho, memberEvent, memberAdmission}
		for _, step := range steps {
			if err := step(ctx, r, one, three); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// memberSite is one or several orchestrators on a database of their own.
type memberSite struct {
	*proctest.Members
	lab     *proctest.Lab
	clients []*api.Client // of each; the first is the leader's
	task    string
}

func newMemberSite(t *holder, n int) *memberSite {
	dsn := pgtest.Start(t)
	s := &memberSite{lab: proctest.NewLab(t)}
	s.Members = proctest.NewMembers(s.lab, n, func(int) string { return dsn },
		proctest.ServeOptions{Config: "[runs]\ndispatch_timeout = \"1h\"\n"})
	s.Start()
	leader := s.Leader()
	for _, o := range s.All {
		if o == leader {
			s.clients = append([]*api.Client{o.Client()}, s.clients...)
		} else {
			s.clients = append(s.clients, o.Client())
		}
	}
	first := s.clients[0]
	project, err := first.CreateProject(t.Context(), api.CreateProject{Name: "Bench", Cwd: api.Some(s.lab.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	task, err := first.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: "Nothing to do"})
	if err != nil {
		t.Fatal(err)
	}
	s.task = task.ID
	return s
}

// at is the client of the leader, of the first follower and so on; with only
// one orchestrator all are its own.
func (s *memberSite) at(i int) *api.Client { return s.clients[min(i, len(s.clients)-1)] }

// memberDispatch has runs created at one follower, decided by the leader and
// given to workers that are connected to another follower.
func memberDispatch(ctx context.Context, r *report, one, three *memberSite) error {
	for _, s := range []*memberSite{one, three} {
		for i := range dispatchWorkers {
			if _, err := s.at(0).CreateHost(ctx, api.CreateHost{Name: fmt.Sprintf("host-%d", i)}); err != nil {
				return err
			}
		}
	}
	var alone, across []time.Duration
	for range memberTurns {
		for _, s := range []*memberSite{one, three} {
			a, err := s.dispatchOnce(ctx)
			if err != nil {
				return err
			}
			r.note("%d orchestrators: request to run_dispatch p50 %s p99 %s", len(s.All), a.AskedP50, a.AskedP99)
			if s == one {
				alone = append(alone, a.AskedP50)
			} else {
				across = append(across, a.AskedP50)
			}
		}
	}
	r.info("request to run_dispatch, p50, one orchestrator", "%s ms", figure(ms(median(alone))))
	r.atMost("the same with creator, leader and worker's on three, p50", ms(median(across))/ms(median(alone)), 2.5, "×")
	return nil
}

func (s *memberSite) dispatchOnce(ctx context.Context) (a dispatchAnswer, err error) {
	c, err := startChild(ctx, "dispatched")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	err = c.order(dispatchOrder{URL: s.at(1).BaseURL, Uplink: s.at(2).BaseURL, Task: s.task, Token: s.Front.Token(), WorkerToken: proctest.MemberWorkerToken}, &a)
	return a, err
}

// memberEcho types into a run by the leader and by a follower, in turns.
func memberEcho(ctx context.Context, r *report, _, three *memberSite) error {
	w := proctest.NewWorker(three.Front, proctest.WorkerOptions{})
	w.Start()
	defer w.Stop()
	run, err := three.at(0).CreateRun(ctx, api.CreateRun{TaskID: three.task, Provider: "sh", Prompt: api.Some("echo ready; cat")})
	if err != nil {
		return err
	}
	if err := untilRunning(ctx, three.at(0), run.ID); err != nil {
		return err
	}
	var near, far []time.Duration
	for range memberTurns {
		for i, list := range []*[]time.Duration{&near, &far} {
			if err := three.typeAt(ctx, three.at(i).BaseURL, run.ID, list); err != nil {
				return err
			}
		}
	}
	r.info("echo by the leader, p50", "%s ms", figure(ms(median(near))))
	r.atMost("echo by a follower against the leader's, p50", ms(median(far))/ms(median(near)), 1.5, "×")
	_, err = three.at(0).StopRun(ctx, run.ID)
	return err
}

func (s *memberSite) typeAt(ctx context.Context, url, runID string, list *[]time.Duration) error {
	keys, err := openSocketKeys(ctx, url, s.Front.Token(), runID)
	if err != nil {
		return err
	}
	defer keys.close()
	for i := range memberKeys {
		took, err := echoOne(ctx, keys, echoChars[i%len(echoChars)])
		if err != nil {
			return err
		}
		*list = append(*list, took)
		if err := rest(ctx, echoPause); err != nil {
			return err
		}
	}
	return nil
}

func untilRunning(ctx context.Context, c *api.Client, runID string) error {
	for deadline := time.Now().Add(time.Minute); ; {
		run, err := c.Run(ctx, runID)
		if err != nil || run.Status == svc.RunRunning {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("run %s is %s after a minute", runID, run.Status)
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// memberEvent writes at one follower, and looks when readers at that one and at
// another are told.
func memberEvent(ctx context.Context, r *report, _, three *memberSite) error {
	by := map[string]*proctest.Follower{}
	for i := range three.All {
		by[three.at(i).BaseURL] = three.Front.FollowBy(three.at(i).BaseURL)
	}
	own, other := by[three.at(1).BaseURL], by[three.at(2).BaseURL]
	var near, far []time.Duration
	for i := range memberEvents {
		title := fmt.Sprintf("event %d", i)
		began := time.Now()
		item, err := three.at(1).CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: three.project(ctx), Kind: svc.KindTask, Title: title})
		if err != nil {
			return err
		}
		for _, reader := range []struct {
			of   *proctest.Follower
			list *[]time.Duration
		}{{own, &near}, {other, &far}} {
			came, err := toldOf(ctx, reader.of, item.ID)
			if err != nil {
				return err
			}
			*reader.list = append(*reader.list, came.Sub(began))
		}
	}
	for _, f := range by {
		f.Close()
	}
	r.info("request to a reader of the same follower, p50 and p99", "%s and %s ms", figure(ms(median(near))), figure(ms(percentile(near, 0.99))))
	r.atMost("the same to a reader of another follower, p50", ms(median(far))/ms(median(near)), 2, "×")
	r.atMost("the same, p99", ms(percentile(far, 0.99))/ms(percentile(near, 0.99)), 1.5, "×")
	return nil
}

// toldOf waits until a reader knows of an item's creation.
func toldOf(ctx context.Context, f *proctest.Follower, item string) (time.Time, error) {
	for deadline := time.Now().Add(time.Minute); ; {
		events := f.Events()
		for i := len(events) - 1; i >= 0; i-- {
			if e := events[i]; strings.HasPrefix(string(e.Topic), "work_item.") && e.Text("work_item_id") == item {
				return e.Came, nil
			}
		}
		if time.Now().After(deadline) {
			return time.Time{}, fmt.Errorf("a reader was not told of item %s", item)
		}
		if err := rest(ctx, time.Millisecond); err != nil {
			return time.Time{}, err
		}
	}
}

func (s *memberSite) project(ctx context.Context) string {
	task, err := s.at(0).WorkItem(ctx, s.task)
	if err != nil {
		return ""
	}
	return task.ProjectID
}

// memberAdmission admits runs that wait for a host, from the same number of
// callers, at one orchestrator and spread over three.
func memberAdmission(ctx context.Context, r *report, one, three *memberSite) error {
	var alone, spread []float64
	for range memberTurns {
		for _, s := range []*memberSite{one, three} {
			rate, err := s.admit(ctx)
			if err != nil {
				return err
			}
			r.note("%d orchestrators: %s admissions/s", len(s.All), figure(rate))
			if s == one {
				alone = append(alone, rate)
			} else {
				spread = append(spread, rate)
			}
		}
	}
	r.info("admissions/s at one orchestrator", "%s", figure(median(alone)))
	r.atLeast("admissions spread over three against one", median(spread)/median(alone), 2, "×")
	return nil
}

func (s *memberSite) admit(ctx context.Context) (perSecond float64, err error) {
	began := time.Now()
	err = parallel(memberCallers, memberAdmits, func(i int) error {
		_, err := s.clients[i%len(s.clients)].CreateRun(ctx, api.CreateRun{TaskID: s.task, Provider: "provider_a"})
		return err
	})
	return memberAdmits / time.Since(began).Seconds(), err
}
