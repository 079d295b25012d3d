package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	fleetSize   = 5000
	fleetBeat   = 30 * time.Second
	fleetSettle = fleetBeat + 5*time.Second // every worker has sent a periodic heartbeat since it connected
	fleetWatch  = 2 * fleetBeat
	fleetDown   = 10 * time.Second // how long the orchestrator is down
	fleetReturn = 60 * time.Second
)

// fleet measures how much memory and CPU time idle uplinks cost the orchestrator, and how fast the workers connect again
// after the orchestrator was down. The orchestrator and all workers together have one process each.
func fleet(ctx context.Context, r *report) (err error) {
	dir, remove, err := tempDir()
	if err != nil {
		return err
	}
	defer remove()
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	o, before, err := startOrchestrator(ctx, dir, addr, fleetSize)
	if err != nil {
		return err
	}
	defer func() { _ = o.close() }() // its usage was read before
	workers, err := startChild(ctx, "fleet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workers.close()) }()
	r.note("connecting %d workers", fleetSize)
	var up fleetAnswer
	if err := workers.order(fleetOrder{URLs: []string{"http://" + addr}, Token: workerToken, Workers: fleetSize}, &up); err != nil {
		return err
	}
	if err := pause(ctx, fleetSettle); err != nil {
		return err
	}
	idle, err := o.usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, fleetWatch); err != nil {
		return err
	}
	later, err := o.usage()
	if err != nil {
		return err
	}
	r.none("uplinks missing when idle", fleetSize-later.Uplinks)
	r.note("of %s kB: stacks %s, heap %s", figure(float64(later.Memory-before.Memory)/fleetSize/1000), figure(float64(later.Stacks-before.Stacks)/fleetSize/1000),
		figure(float64(later.Heap-before.Heap)/fleetSize/1000))
	r.atMost("memory of an idle uplink", float64(later.Memory-before.Memory)/fleetSize/1000, 40, " kB")
	r.atMost(fmt.Sprintf("cores for heartbeats of %d uplinks", fleetSize), (later.CPU-idle.CPU).Seconds()/fleetWatch.Seconds(), 0.15, "")

	r.note("restarting the orchestrator")
	if err := o.close(); err != nil { // on a busy machine it does not wait for some sockets longer than 5 s, and returns an error
		r.note("the orchestrator did not end in order: %v", err)
	}
	if err := pause(ctx, fleetDown); err != nil {
		return err
	}
	back := time.Now()
	if o, _, err = startOrchestrator(ctx, dir, addr, 0); err != nil {
		return err
	}
	var a fleetAnswer
	if err := workers.order(fleetOrder{Workers: fleetSize, Since: back, Within: fleetReturn}, &a); err != nil {
		return err
	}
	r.none(fmt.Sprintf("workers not back %s after a restart", fleetReturn), fleetSize-a.Open)
	r.info("the last one was back after", "%s s", figure(a.Last.Seconds()))
	r.atMost("peak of connects per second to their mean", a.Peak/a.Mean, 3, "×")
	offline, err := o.usage()
	if err != nil {
		return err
	}
	r.none("workers declared offline", offline.Offline)
	return nil
}

// freeAddr returns a free address, so that the orchestrator can use the same one after its restart.
func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
