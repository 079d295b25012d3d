package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/store"
)

const (
	waitingRuns  = 10_000
	waitingHosts = 1000
	waitingTurns = 4
	waitingTurn  = 3 * time.Second
)

// waiting measures how much runs that wait without any capacity delay other writes: the same writes with a long queue
// and without one, each with as many hosts, in turns.
func waiting(ctx context.Context, r *report) (err error) {
	var rigs [2]*rig // the first without a queue, the second with one
	var tasks [2]svc.WorkItem
	for i := range rigs {
		if rigs[i], err = newOwnRig(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rigs[i].close()) }()
		if tasks[i], err = rigs[i].task(ctx); err != nil {
			return err
		}
		if err := rigs[i].fullHosts(ctx, waitingHosts); err != nil {
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
		float64(with)/float64(without), 1.2, "×")
	return nil
}

// fullHosts makes hosts that are online and may have no runs.
func (g *rig) fullHosts(ctx context.Context, n int) error {
	if err := g.provision(ctx, n); err != nil {
		return err
	}
	return g.store.Write(ctx, func(tx *store.Tx) error {
		hosts, err := tx.AllHosts(ctx)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			none := 0
			h.Status, h.LastSeenAt, h.MaxRuns = svc.HostOnline, &tx.Now, &none
			h.Providers = map[string]svc.ProviderReport{"provider_a": {Available: true}}
			if err := tx.UpdateHost(ctx, &h); err != nil {
				return err
			}
		}
		return nil
	})
}
