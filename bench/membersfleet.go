package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
)

const (
	crowdSize = 10_000
	// crowdArrive is how many workers connect per second before the cost is measured. It is less than orchestrators
	// accept.
	crowdArrive = 150
	// crowdWatch is the longest time between two garbage collections in Go. A shorter one would contain one by chance.
	crowdWatch = 2 * time.Minute
	// fleetEvents is more than the number of newest events that an orchestrator keeps in memory.
	fleetEvents = 11_000
	crowdRate   = 300              // runs per second
	crowdBefore = 10 * time.Second // from the first request for a run until an orchestrator is killed
	crowdAfter  = 50 * time.Second // from then until the last request for a run
	crowdReturn = 30 * time.Second // limit until all workers are connected again
	crowdMost   = 90 * time.Second // how long to wait, so that a time above the limit can be measured too
)

// membersFleet compares the cost of idle uplinks at three orchestrators on one PostgreSQL database, two of which forward
// theirs, with the cost at a single orchestrator. It also measures how fast the workers connect again after an
// orchestrator was killed, while runs are created.
func membersFleet(ctx context.Context, r *report) error {
	alone, err := crowdOn(ctx, r, 1, func(*crowd) error { return nil })
	if err != nil {
		return err
	}
	spread, err := crowdOn(ctx, r, 3, func(c *crowd) error {
		if err := c.lose(ctx, r, "a follower"); err != nil {
			return err
		}
		return c.lose(ctx, r, "the leader")
	})
	if err != nil {
		return err
	}
	r.info("memory of an idle uplink of one orchestrator", "%s kB", figure(alone.memory))
	r.atMost("memory of an idle uplink, three to one", spread.memory/alone.memory, 1.1, "×")
	r.info(fmt.Sprintf("cores for heartbeats of %d uplinks of one orchestrator", crowdSize), "%s", figure(alone.cores))
	r.atMost("cores for heartbeats, three to one", spread.cores/alone.cores, 1.1, "×")
	return nil
}

// crowdCost is the cost of idle uplinks: memory of each in kB, and the number of cores for all.
type crowdCost struct{ memory, cores float64 }

// crowd is a large number of workers and the orchestrators that they connect to.
type crowd struct {
	*fleetSite
	workers *child
}

// crowdOn connects the workers to n orchestrators, measures the cost, and then calls rest.
func crowdOn(ctx context.Context, r *report, n int, rest func(*crowd) error) (cost crowdCost, err error) {
	t := &holder{}
	defer t.release()
	c := &crowd{}
	if err := t.try(func() { c.fleetSite = newFleetSite(t, n, crowdSize) }); err != nil {
		return cost, err
	}
	if c.workers, err = startChild(ctx, "fleet"); err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, c.workers.close()) }()
	if cost, err = c.cost(ctx, r); err != nil {
		return cost, err
	}
	return cost, t.try(func() {
		if err := rest(c); err != nil {
			t.Fatal(err)
		}
	})
}

// cost returns the difference between the usage of the orchestrators with all workers and without workers.
//
// Two things would count as the memory of uplinks although they do not depend on their number. First, each orchestrator
// keeps the newest events in memory, up to a limit, and workers that connect journal thousands of events. Therefore the
// same number of equal events is journaled before both measurements. Second, Go never frees the descriptors of goroutines
// that have ended, and a burst of requests fragments its heap: what 10,000 workers leave that connect at the same moment
// differs by a tenth from run to run. Therefore they connect at a constant rate. They connect all at once again after an
// orchestrator was lost.
func (c *crowd) cost(ctx context.Context, r *report) (cost crowdCost, err error) {
	if err := c.fill(ctx, "before"); err != nil {
		return cost, err
	}
	before, err := c.use(ctx)
	if err != nil {
		return cost, err
	}
	r.note("connecting %d workers", crowdSize)
	var up fleetAnswer
	cpu := c.cpu()
	if err := c.workers.order(fleetOrder{URLs: c.urls(), Token: proctest.MemberWorkerToken, Workers: crowdSize, Rate: crowdArrive}, &up); err != nil {
		return cost, err
	}
	r.none(fmt.Sprintf("uplinks missing at %d orchestrators", len(c.all)), crowdSize-up.Open)
	r.note("the last one was connected after %s s; CPU of each: %s ms", figure(up.Last.Seconds()), figure(ms(c.cpu()-cpu)/crowdSize))
	if err := pause(ctx, fleetSettle); err != nil {
		return cost, err
	}
	if err := c.fill(ctx, "after"); err != nil {
		return cost, err
	}
	later, err := c.use(ctx)
	if err != nil {
		return cost, err
	}
	cost = crowdCost{float64(later.memory-before.memory) / crowdSize / 1000, later.cores - before.cores}
	r.note("%d orchestrators: %s kB for each uplink; %s cores without workers, %s with them; %v", len(c.all), figure(cost.memory), figure(before.cores), figure(later.cores), later.each)
	return cost, nil
}

// lose kills an orchestrator while runs are created, and starts it again after its workers have connected to other
// orchestrators and all runs have ended.
func (c *crowd) lose(ctx context.Context, r *report, which string) error {
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	victim := leader
	if which != "the leader" {
		victim = c.all[0]
		if victim == leader {
			victim = c.all[1]
		}
	}
	asked := make(chan error, 1)
	began := time.Now()
	go func() { asked <- c.ask(ctx, which) }()
	if err := pause(ctx, crowdBefore); err != nil {
		return err
	}
	killed := time.Now()
	victim.Kill()
	if err := pause(ctx, 2*time.Second); err != nil { // by then all its workers have noticed it
		return err
	}
	var a fleetAnswer
	if err := c.workers.order(fleetOrder{Workers: crowdSize, Since: killed, Within: crowdMost}, &a); err != nil {
		return err
	}
	r.none(which+" killed: uplinks that did not come back", crowdSize-a.Open)
	r.atMost(fmt.Sprintf("%s killed: the last one of %d uplinks is back", which, a.Back), a.Last.Seconds(), crowdReturn.Seconds(), " s")
	r.note("busiest second %s times the mean", figure(a.Peak/a.Mean))
	if err := <-asked; err != nil {
		return err
	}
	open, ended, err := c.untilEnded(ctx, which)
	if err != nil {
		return err
	}
	asks := int((crowdBefore + crowdAfter).Seconds()) * crowdRate
	r.atLeast(which+" killed: runs a second, from the first request to the last end", float64(asks)/time.Since(began).Seconds(), 0.9*crowdRate, "")
	r.none(which+" killed: runs that have not ended, or are too many", open+max(ended-asks, asks-ended))
	offline, err := c.count(ctx, `SELECT count(*) FROM events WHERE topic = $1`, string(svc.TopicWorkerOffline))
	if err != nil {
		return err
	}
	r.none(which+" killed: hosts declared offline", offline)
	victim.Start()
	return pause(ctx, fleetDown)
}

// ask creates runs at a constant rate, at one orchestrator after the other. A request that fails is repeated at the next
// orchestrator with the same idempotency key.
func (c *crowd) ask(ctx context.Context, title string) error {
	task, err := c.task(ctx, title)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second / crowdRate)
	defer tick.Stop()
	n := int((crowdBefore + crowdAfter).Seconds()) * crowdRate
	failed := make(chan error, n)
	for i := range n {
		<-tick.C
		go func() { failed <- c.askOnce(ctx, task, i) }()
	}
	for range n {
		err = errors.Join(err, <-failed)
	}
	return err
}

func (c *crowd) askOnce(ctx context.Context, task string, i int) error {
	ctx = api.WithIdempotencyKey(ctx, fmt.Sprintf("%s-%d", task, i))
	for deadline := time.Now().Add(crowdMost); ; i++ {
		_, err := c.client(i).CreateRun(ctx, api.CreateRun{TaskID: task, Provider: "provider_a"})
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// untilEnded waits until all runs of a task have ended, at most crowdMost, and returns how many are open and have ended.
func (c *crowd) untilEnded(ctx context.Context, title string) (open, ended int, err error) {
	const of = `SELECT count(*) FROM runs r JOIN work_items i ON i.id = r.task_id WHERE i.title = $1 AND r.status `
	for deadline := time.Now().Add(crowdMost); ; {
		if open, err = c.count(ctx, of+`<> 'exited'`, title); err != nil {
			return 0, 0, err
		}
		if open == 0 || time.Now().After(deadline) {
			ended, err = c.count(ctx, of+`= 'exited'`, title)
			return open, ended, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
}

// leader returns the orchestrator that leads.
func (c *crowd) leader(ctx context.Context) (*proctest.Orchestrator, error) {
	list, err := c.client(0).Replicas(ctx, svc.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	for _, replica := range list.Items {
		for i, o := range c.all {
			if replica.Leader && replica.Address == c.peers[i] {
				return o, nil
			}
		}
	}
	return nil, errors.New("no orchestrator leads")
}
