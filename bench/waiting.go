package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
)

const (
	waitingRuns  = 10_000
	waitingHosts = 1000
	waitingTurns = 5
	waitingTurn  = 3 * time.Second
)

// waiting measures what runs that wait without any capacity cost everybody
// else's writes: the same writes beside a long queue and beside none, each with
// as many hosts, in turns.
func waiting(ctx context.Context, r *report) (err error) {
	var rigs [2]*rig // without a queue, with one
	var tasks [2]svc.WorkItem
	for i := range rigs {
		if rigs[i], err = newOwnRig(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rigs[i].close()) }()
		if tasks[i], err = rigs[i].task(ctx); err != nil {
			return err
		}
		if err := rigs[i].provision(ctx, waitingHosts); err != nil { // none of them is connected
			return err
		}
	}
	r.note("queueing %d runs", waitingRuns)
	if err := parallel(64, waitingRuns, func(int) error {
		_, err := rigs[1].engine.CreateRun(ctx, svc.NewRun{TaskID: tasks[1].ID, Provider: "provider_a"})
		return err
	}); err != nil {
		return err
	}
	var took [2][]time.Duration
	for range waitingTurns {
		for i, g := range rigs {
			until := time.Now().Add(waitingTurn)
			for n := 0; time.Now().Before(until); n++ {
				began, title := time.Now(), fmt.Sprint("Title ", n)
				if _, err := g.engine.UpdateWorkItem(ctx, tasks[i].ID, svc.WorkItemPatch{Title: &title}, nil); err != nil {
					return err
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	without, with := percentile(took[0], 0.99), percentile(took[1], 0.99)
	r.info("p99 of a write, without and with the queue", "%s and %s ms", figure(ms(without)), figure(ms(with)))
	r.atMost(fmt.Sprintf("p99 of a write beside %d waiting runs and %d hosts without capacity", waitingRuns, waitingHosts),
		float64(with)/float64(without), 1.5, "×")
	return nil
}
