package cluster

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// failure is a failure of an orchestrator, or of its connections.
type failure struct {
	name string
	// strict: no repeatable request may fail, not even with a transient error.
	strict bool
	begin  func(s *site, o *proctest.Orchestrator)
	// meanwhile checks more during the failure; nil: nothing.
	meanwhile func(s *site, o *proctest.Orchestrator)
	end       func(s *site, o *proctest.Orchestrator)
	pause     time.Duration // the promised limit until runs start again
}

// rounds returns how often each failure happens.
func rounds() int {
	if proctest.Long() {
		return 20
	}
	return 1
}

// talker is a run's script that prints for a while and then waits for a line.
const talker = `i=0; while [ $i -lt 15 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; read -r line; echo got $line`

// causeFailures causes failures one after the other. Before each, pick chooses the orchestrator that fails.
func causeFailures(t *testing.T, s *site, pick func() *proctest.Orchestrator, failures ...failure) {
	t.Helper()
	for round := range rounds() {
		for _, f := range failures {
			if !s.in(t, fmt.Sprintf("%s/%d", f.name, round+1), func() { s.causeFailure(f, pick(), fmt.Sprintf("%s %d", f.name, round+1)) }) {
				return // after a failed check the state of the site is unknown
			}
		}
	}
}

func (s *site) causeFailure(f failure, o *proctest.Orchestrator, mark string) {
	s.t.Helper()
	before := s.run(mark+" before", talker)
	s.await(before, svc.TopicRunStarted)
	stop := s.load(mark, f.strict)
	defer stop()
	began := time.Now()
	f.begin(s, o)
	during := s.run(mark+" during", "echo during")
	s.logDuration("a run starts after", s.await(during, svc.TopicRunStarted).Came.Sub(began), f.pause)
	s.awaitEnd(during)
	if f.meanwhile != nil {
		f.meanwhile(s, o)
	}
	f.end(s, o)
	s.answer(mark, before, "hello")
	s.awaitEnd(before)
	stop()
	s.awaitState(o, http.StatusOK)
}

func kill(_ *site, o *proctest.Orchestrator)  { o.Kill() }
func stop(_ *site, o *proctest.Orchestrator)  { o.Stop() }
func start(_ *site, o *proctest.Orchestrator) { o.Start() }

func freeze(_ *site, o *proctest.Orchestrator) { o.Signal(syscall.SIGSTOP) }
func wake(_ *site, o *proctest.Orchestrator)   { o.Signal(syscall.SIGCONT) }

// wakeLate thaws a frozen orchestrator after requests were sent to it, and after another one answered the same
// requests. The orchestrator may refuse these requests or return the same results.
func wakeLate(s *site, o *proctest.Orchestrator) {
	s.t.Helper()
	if proctest.Long() {
		proctest.Pause(25 * time.Second) // longer than any lease
	}
	const requests = 5
	var waiting sync.WaitGroup
	late := make([]string, requests)
	sent := make([]chan struct{}, requests)
	for i := range requests {
		sent[i] = make(chan struct{})
		mark := fmt.Sprintf("%s late %d", s.t.Name(), i)
		s.note(mark, "")
		waiting.Go(func() {
			item, err := s.item(s.t.Context(), o.Client(), mark, sent[i])
			if err != nil && !transient(err) {
				s.t.Errorf("%s: the orchestrator that was frozen answered with %v", mark, err)
			}
			late[i] = item
		})
	}
	for i := range requests {
		<-sent[i]
		mark := fmt.Sprintf("%s late %d", s.t.Name(), i)
		s.create(mark, func(ctx context.Context) (string, error) { return s.item(ctx, s.client, mark, nil) })
	}
	wake(s, o)
	waiting.Wait()
	for i, id := range late {
		if want := s.acknowledged(fmt.Sprintf("%s late %d", s.t.Name(), i)); id != "" && id != want {
			s.t.Errorf("the orchestrator that was frozen has created %s, the others %s", id, want)
		}
	}
}

// item creates an item. Its title is also the idempotency key. sent, if not nil, is closed when the request has been
// written.
func (s *site) item(ctx context.Context, client *api.Client, title string, sent chan struct{}) (string, error) {
	if sent != nil {
		ctx = onWrote(ctx, func() { close(sent) })
	}
	item, err := client.CreateWorkItem(api.WithIdempotencyKey(ctx, title), api.CreateWorkItem{ProjectID: s.project, Kind: svc.KindTask, Title: title})
	return item.ID, err
}

// cutDatabase disconnects an orchestrator from the database: its connections are closed and refused, or their data is
// dropped silently.
func cutDatabase(mode pgtest.Mode) func(*site, *proctest.Orchestrator) {
	return func(s *site, o *proctest.Orchestrator) {
		s.t.Helper()
		link := s.links[s.index(o)]
		link.Set(mode)
		if mode == pgtest.Refuses {
			link.Cut()
		}
		s.logDuration("not ready after", s.awaitState(o, http.StatusServiceUnavailable), 5*time.Second)
	}
}

func restoreDatabase(s *site, o *proctest.Orchestrator) {
	s.links[s.index(o)].Set(pgtest.Works)
	s.links[s.index(o)].Cut()
}

// wantUnavailable checks that an orchestrator without the database answers with "unavailable".
func wantUnavailable(s *site, o *proctest.Orchestrator) {
	s.t.Helper()
	if status, code := ask(o, "/api/v1/projects"); status != http.StatusServiceUnavailable || code != svc.CodeUnavailable {
		s.t.Errorf("%s answers %d %s without the database", o.Name(), status, code)
	}
}

func disconnectWorkers(silently bool) func(*site, *proctest.Orchestrator) {
	return func(s *site, o *proctest.Orchestrator) { s.m.Separate(o, silently) }
}

func reconnectWorkers(s *site, o *proctest.Orchestrator) { s.m.Rejoin(o) }

func cutPeers(s *site, o *proctest.Orchestrator) {
	s.m.Peers[s.index(o)].Set(proctest.Weather{Refuse: true})
	s.m.Peers[s.index(o)].Cut()
}

func restorePeers(s *site, o *proctest.Orchestrator) { s.m.Peers[s.index(o)].Set(proctest.Weather{}) }

// wantUnreachable checks the other orchestrators while they cannot reach the leader, although the leader works: they
// serve records from the database, and answer requests for live data with "replica_unreachable".
func wantUnreachable(s *site, leader *proctest.Orchestrator) {
	s.t.Helper()
	var others []*proctest.Orchestrator
	for _, o := range s.m.All {
		if o != leader {
			others = append(others, o)
		}
	}
	s.awaitAnswers("/readyz", http.StatusServiceUnavailable, svc.CodeReplicaUnreachable, others...)
	s.awaitAnswers("/api/v1/runs/"+s.runs[0]+"/logs", http.StatusServiceUnavailable, svc.CodeReplicaUnreachable, others...)
	for _, o := range others { // they can still use the database
		mark := s.t.Name() + " by " + o.Name()
		id := s.create(mark, func(ctx context.Context) (string, error) { return s.item(ctx, o.Client(), mark, nil) })
		if _, err := o.Client().WorkItem(s.t.Context(), id); err != nil {
			s.t.Errorf("%s cannot read the item that it created: %v", o.Name(), err)
		}
	}
	if status, _ := state(leader); status != http.StatusOK {
		s.t.Errorf("the leader answers %d", status)
	}
}

// drain drains an orchestrator through the API and waits until it has ended.
func drain(s *site, o *proctest.Orchestrator) {
	s.t.Helper()
	began := time.Now()
	list, err := s.client.Replicas(s.t.Context(), svc.Page{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range list.Items {
		if r.State == svc.ReplicaReady && "http://"+r.Address == s.m.Peers[s.index(o)].URL {
			if _, err := s.client.DrainReplica(s.t.Context(), r.ID); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := o.Wait(waittest.Patience); err != nil {
		s.t.Errorf("%s ended with %v", o.Name(), err)
	}
	s.logDuration("drained", time.Since(began), 45*time.Second)
}

// wantOther fails when an orchestrator still leads.
func wantOther(s *site, o *proctest.Orchestrator) {
	s.t.Helper()
	if s.m.Leader() == o {
		s.t.Errorf("%s still leads", o.Name())
	}
}

func TestFailuresOfTheLeader(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, pgtest.Start(t))
	without := func(s *site, o *proctest.Orchestrator) { wantUnavailable(s, o); wantOther(s, o) }
	failures := []failure{
		{name: "killed", begin: kill, meanwhile: wantOther, end: start, pause: 8 * time.Second},
		{name: "frozen", begin: freeze, meanwhile: wantOther, end: wakeLate, pause: 15 * time.Second}, // the worker may be connected to it, and reconnects only after a missing response
		{name: "without the database", begin: cutDatabase(pgtest.Refuses), meanwhile: without, end: restoreDatabase, pause: 12 * time.Second},
		{name: "without its peers", begin: cutPeers, meanwhile: wantUnreachable, end: restorePeers, pause: 6 * time.Second},
		{name: "drained", strict: true, begin: drain, meanwhile: wantOther, end: start, pause: 12 * time.Second}, // includes the drain itself, which waits for balancers, before the run is created
	}
	if proctest.Long() {
		failures = append(failures,
			failure{name: "stopped", begin: stop, meanwhile: wantOther, end: start, pause: 6 * time.Second},
			failure{name: "without its workers", begin: disconnectWorkers(false), end: reconnectWorkers, pause: 15 * time.Second},
			failure{name: "silently without the database", begin: cutDatabase(pgtest.Swallows), meanwhile: without, end: restoreDatabase, pause: 15 * time.Second},
			failure{name: "silently without its workers", begin: disconnectWorkers(true), end: reconnectWorkers, pause: 20 * time.Second})
	}
	causeFailures(t, s, s.m.Leader, failures...)
}

func TestFailuresOfAFollower(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, pgtest.Start(t))
	failures := []failure{
		{name: "killed", begin: kill, end: start, pause: 10 * time.Second},
		{name: "frozen", begin: freeze, end: wakeLate, pause: 15 * time.Second},
		{name: "silently without the database", begin: cutDatabase(pgtest.Swallows), meanwhile: wantUnavailable, end: restoreDatabase, pause: 15 * time.Second},
		{name: "without its workers", begin: disconnectWorkers(false), end: reconnectWorkers, pause: 15 * time.Second},
		{name: "drained", strict: true, begin: drain, end: start, pause: 12 * time.Second},
	}
	if proctest.Long() {
		failures = append(failures,
			failure{name: "stopped", begin: stop, end: start, pause: 6 * time.Second},
			failure{name: "without the database", begin: cutDatabase(pgtest.Refuses), meanwhile: wantUnavailable, end: restoreDatabase, pause: 12 * time.Second},
			failure{name: "silently without its workers", begin: disconnectWorkers(true), end: reconnectWorkers, pause: 20 * time.Second})
	}
	causeFailures(t, s, s.m.Follower, failures...)
}
