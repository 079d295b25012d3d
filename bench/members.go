package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
)

const (
	memberTurns   = 3
	memberAdmits  = 4000 // runs per turn
	memberCallers = 96
	memberEvents  = 150
	memberKeys    = 60
	memberCores   = 0.2 // the cores of an orchestrator whose processor time is limited

	memberTripDelay = 500 * time.Microsecond
)

// members measures three orchestrators on one PostgreSQL in turns with one: the cost of work that passes from one to
// another, and the gain of work that they do in parallel.
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
		one.stop()
		three.stop()
		if err := memberDelay(ctx, r, t); err != nil {
			t.Fatal(err)
		}
	})
}

// memberSite is one or several orchestrators on a database of their own.
type memberSite struct {
	*proctest.Members
	lab       *proctest.Lab
	clients   []*api.Client // the client of each orchestrator; the first is the leader's
	task      string
	dsn       string
	instances []string // identities of the fake workers
}

func newMemberSite(t *holder, n int) *memberSite {
	dsn := pgtest.Start(t)
	return newMemberSiteOn(t, n, dsn, func(int) string { return dsn })
}

// newMemberSiteOn is newMemberSite with a DSN for each orchestrator.
func newMemberSiteOn(t *holder, n int, dsn string, database func(int) string) *memberSite {
	s := &memberSite{lab: proctest.NewLab(t), dsn: dsn, instances: newInstances()}
	s.Members = proctest.NewMembers(s.lab, n, database,
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

// at returns the client of the leader (0), of the first follower (1) and so on. With only one orchestrator it always
// returns that one's client.
func (s *memberSite) at(i int) *api.Client { return s.clients[min(i, len(s.clients)-1)] }

// memberDispatch creates runs at one follower. The leader places them on workers that are connected to another
// follower.
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
	r.atMost("the same with client, leader and worker at three orchestrators, p50, relative to one", ms(median(across))/ms(median(alone)), 2.5, "×")
	return nil
}

func (s *memberSite) dispatchOnce(ctx context.Context) (a dispatchAnswer, err error) {
	c, err := startChild(ctx, "dispatched")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	err = c.order(dispatchOrder{URL: s.at(1).BaseURL, Uplink: s.at(2).BaseURL, Task: s.task, Token: s.Front.Token(), WorkerToken: proctest.MemberWorkerToken, Instances: s.instances}, &a)
	return a, err
}

// memberEcho types into a run through the leader and through a follower, in turns.
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
	r.info("echo through the leader, p50", "%s ms", figure(ms(median(near))))
	r.atMost("echo through a follower, p50, relative to the leader", ms(median(far))/ms(median(near)), 1.5, "×")
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

// memberEvent measures the time from a request that writes an event until a reader at the same orchestrator has the
// event, and until a reader at another one has it. The event is written at the leader in one measurement and at a
// follower in the other.
func memberEvent(ctx context.Context, r *report, _, three *memberSite) error {
	for _, at := range []struct {
		writer string
		from   int
		to     int
	}{{"the leader", 0, 1}, {"a follower", 1, 2}} {
		near, far, err := three.eventsFrom(ctx, at.from, at.to)
		if err != nil {
			return err
		}
		r.info("event written at "+at.writer+" until a reader there has it, p50 and p99", "%s and %s ms", figure(ms(median(near))), figure(ms(percentile(near, 0.99))))
		r.info("the same until a reader at another orchestrator has it, p50 and p99", "%s and %s ms", figure(ms(median(far))), figure(ms(percentile(far, 0.99))))
		r.atMost("event written at "+at.writer+", p50, other reader relative to reader there", ms(median(far))/ms(median(near)), 2, "×")
		r.atMost("event written at "+at.writer+", p99, other reader relative to reader there", ms(percentile(far, 0.99))/ms(percentile(near, 0.99)), 1.5, "×")
	}
	return nil
}

// eventsFrom writes events at one orchestrator. It returns the delays until a reader there (near) and a reader at
// another orchestrator (far) had each event.
func (s *memberSite) eventsFrom(ctx context.Context, from, to int) (near, far []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	task, err := s.at(0).WorkItem(ctx, s.task)
	if err != nil {
		return nil, nil, err
	}
	own, other := readItems(ctx, s.at(from)), readItems(ctx, s.at(to))
	for _, r := range []*itemReader{own, other} {
		if err := <-r.head; err != nil {
			return nil, nil, err
		}
	}
	for i := range memberEvents + 1 {
		began := time.Now()
		item, err := s.at(from).CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: task.ProjectID, Kind: svc.KindTask, Title: fmt.Sprintf("Event %d", i)})
		if err != nil {
			return nil, nil, err
		}
		ownAt, ownErr := own.wait(item.ID)
		otherAt, otherErr := other.wait(item.ID)
		if err := errors.Join(ownErr, otherErr); err != nil {
			return nil, nil, err
		}
		if i > 0 { // the first event also waits for the streams to open
			near, far = append(near, ownAt.Sub(began)), append(far, otherAt.Sub(began))
		}
	}
	return near, far, nil
}

// itemReader is a client of an event stream that reads the creation of work items.
type itemReader struct {
	head chan error // gets one value, when the head of the journal was read
	came chan itemEvent
}

type itemEvent struct {
	id  string
	at  time.Time
	err error // the reason why the stream ended; nil: this is an event
}

func readItems(ctx context.Context, c *api.Client) *itemReader {
	r := &itemReader{head: make(chan error, 1), came: make(chan itemEvent, memberEvents+2)}
	go func() {
		head, err := c.Head(ctx)
		if r.head <- err; err != nil {
			return
		}
		filter := svc.EventFilter{Topics: svc.Globs{string(svc.TopicItemCreated)}}
		err = c.Stream(ctx, api.StreamOptions{EventFilter: filter, After: &head}, func(m api.Message) error {
			now := time.Now()
			var payload struct {
				ID string `json:"task_id"`
			}
			err := json.Unmarshal(m.Data, &payload)
			r.came <- itemEvent{id: payload.ID, at: now}
			return err
		})
		r.came <- itemEvent{err: errors.Join(errors.New("the stream ended"), err)}
	}()
	return r
}

// wait returns the time at which the reader received the creation of an item.
func (r *itemReader) wait(item string) (time.Time, error) {
	deadline := time.After(time.Minute)
	for {
		select {
		case e := <-r.came:
			if e.id == item || e.err != nil {
				return e.at, e.err
			}
		case <-deadline:
			return time.Time{}, fmt.Errorf("a reader was not sent the creation of item %s", item)
		}
	}
}

// memberAdmission admits runs that wait for a host, from the same number of callers, at one orchestrator and spread
// over three. On this machine the orchestrators, PostgreSQL and the callers share the processors. Only the second
// measurement therefore has a target: each orchestrator may use only a part of a core, so that its own processor time
// is the bottleneck.
func memberAdmission(ctx context.Context, r *report, one, three *memberSite) error {
	alone, spread, err := admissions(ctx, r, one, three)
	if err != nil {
		return err
	}
	r.info("admissions/s at one orchestrator", "%s", figure(alone))
	r.info("admissions spread over three orchestrators, relative to one, all on one machine", "%s×", figure(spread/alone))

	var pids []int
	for _, s := range []*memberSite{one, three} {
		for _, o := range s.All {
			pids = append(pids, o.PID())
		}
	}
	lift, err := limitCPU(memberCores, pids...)
	if err != nil {
		r.info("admissions spread over three against one, with limited processors", "not measured: %v", err)
		return nil
	}
	alone, spread, err = admissions(ctx, r, one, three)
	if err = errors.Join(err, lift()); err != nil {
		return err
	}
	r.info(fmt.Sprintf("admissions/s at one orchestrator with %s cores", figure(memberCores)), "%s", figure(alone))
	r.atLeast("admissions spread over three such orchestrators, relative to one", spread/alone, 2, "×")
	return nil
}

// admissions measures both sites in turns and returns the median admissions per second of each.
func admissions(ctx context.Context, r *report, one, three *memberSite) (alone, spread float64, err error) {
	var rates [2][]float64
	for range memberTurns {
		for i, s := range []*memberSite{one, three} {
			before := s.cpu()
			rate, err := s.admit(ctx)
			if err != nil {
				return 0, 0, err
			}
			r.note("%d orchestrators: %s admissions/s; %s", len(s.All), figure(rate), s.cpu().since(before, memberAdmits))
			rates[i] = append(rates[i], rate)
		}
	}
	return median(rates[0]), median(rates[1]), nil
}

// admit creates runs with a fixed number of callers, each of which is connected to one orchestrator.
func (s *memberSite) admit(ctx context.Context) (perSecond float64, err error) {
	began := time.Now()
	var left atomic.Int64
	left.Store(memberAdmits)
	var g errgroup.Group
	for i := range memberCallers {
		client := s.clients[i%len(s.clients)]
		g.Go(func() error {
			for left.Add(-1) >= 0 {
				if _, err := client.CreateRun(ctx, api.CreateRun{TaskID: s.task, Provider: "provider_a"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	return memberAdmits / time.Since(began).Seconds(), err
}

// memberDelay admits runs at three orchestrators, in turns with and without an added delay of each trip to
// PostgreSQL.
func memberDelay(ctx context.Context, r *report, t *holder) error {
	dsn := pgtest.Start(t)
	var links []*pgtest.Link
	s := newMemberSiteOn(t, 3, dsn, func(int) string {
		link, way := pgtest.NewLink(t, dsn)
		links = append(links, link)
		return way
	})
	defer s.stop()
	var near, far []float64
	for range memberTurns {
		for _, delay := range []time.Duration{0, memberTripDelay} {
			for _, link := range links {
				link.Delay(delay)
			}
			rate, err := s.admit(ctx)
			if err != nil {
				return err
			}
			r.note("each trip to PostgreSQL %s longer: %s admissions/s", delay, figure(rate))
			if delay == 0 {
				near = append(near, rate)
			} else {
				far = append(far, rate)
			}
		}
	}
	r.info("admissions/s at three orchestrators with a proxy before PostgreSQL", "%s", figure(median(near)))
	r.atLeast(fmt.Sprintf("the same with %s more for each trip to PostgreSQL", memberTripDelay), median(far)/median(near), 0.4, "×")
	return nil
}

// stop ends the orchestrators, so that they do not load the machine during the next measurement.
func (s *memberSite) stop() {
	for _, o := range s.All {
		o.Stop()
	}
}
