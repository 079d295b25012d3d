package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"svc"
	"svc/wire"
)

const (
	slotWaiting = 1000
	slotTurns   = 300
)

// slot measures how soon a free slot is filled while many runs wait, in turns with the same for a short queue, which
// is empty in the end.
func slot(ctx context.Context, r *report) (err error) {
	var sites [2]*slotSite // the first with a short queue, the second with a long one
	for i, waiting := range []int{1, slotWaiting} {
		g, err := newOwnRig(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.close()) }()
		if sites[i], err = newSlotSite(ctx, g, waiting+slotTurns); err != nil {
			return err
		}
	}
	for range slotTurns {
		for _, s := range sites {
			if err := s.turn(ctx); err != nil {
				return err
			}
		}
	}
	short, long := sites[0].took, sites[1].took
	r.info(fmt.Sprintf("time to fill a free slot, p50 and p99, with up to %d and with %d waiting runs", slotTurns, slotWaiting), "%s and %s, %s and %s ms",
		figure(ms(percentile(short, 0.5))), figure(ms(percentile(short, 0.99))), figure(ms(percentile(long, 0.5))), figure(ms(percentile(long, 0.99))))
	r.atMost(fmt.Sprintf("time to fill a free slot, p50, with %d waiting runs, relative to at most %d", slotWaiting, slotTurns), float64(percentile(long, 0.5))/float64(percentile(short, 0.5)), 2, "×")
	r.atMost(fmt.Sprintf("time to fill a free slot, p99, with %d waiting runs", slotWaiting), ms(percentile(long, 0.99)), 50, " ms")
	return nil
}

// slotSite is a queue of runs for a host with one slot, so that the slot is filled before it is freed again.
type slotSite struct {
	g    *rig
	w    *fakeWorker
	now  *wire.RunDispatch // the run in the slot
	took []time.Duration
}

func newSlotSite(ctx context.Context, g *rig, runs int) (*slotSite, error) {
	task, err := g.task(ctx)
	if err != nil {
		return nil, err
	}
	one := 1
	if _, err := g.engine.CreateHost(ctx, svc.NewHost{Name: "host-0", MaxRuns: &one}); err != nil {
		return nil, err
	}
	if err := parallel(64, runs, func(i int) error {
		_, err := g.engine.CreateRun(ctx, svc.NewRun{TaskID: task.ID, Provider: "provider_a", Wait: true, Priority: i%5 - 2})
		return err
	}); err != nil {
		return nil, err
	}
	w := newFakeWorker(g.url, "host-0", http.DefaultClient)
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	first, err := w.dispatched(ctx)
	return &slotSite{g: g, w: w, now: first}, err
}

// turn ends the run in the slot and stores the time until the next one is dispatched.
func (s *slotSite) turn(ctx context.Context) error {
	if err := s.w.send(ctx, wire.RunDispatchAck{RunID: s.now.RunID, Attempt: s.now.Attempt, Accepted: true}); err != nil {
		return err
	}
	for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished} {
		sig := svc.Signal{RunID: s.now.RunID, Kind: kind, Attempt: s.now.Attempt, Source: svc.FromWrapper, Timestamp: svc.TimeOf(time.Now()), Via: "http"}
		if _, err := s.g.engine.Ingest(ctx, sig); err != nil {
			return err
		}
	}
	freed := time.Now()
	next, err := s.w.dispatched(ctx)
	s.now, s.took = next, append(s.took, time.Since(freed))
	return err
}

// dispatched waits for the next dispatch to the worker.
func (w *fakeWorker) dispatched(ctx context.Context) (*wire.RunDispatch, error) {
	for {
		f, err := w.read(ctx)
		if err != nil {
			return nil, err
		}
		if d, ok := f.(*wire.RunDispatch); ok {
			return d, nil
		}
	}
}
