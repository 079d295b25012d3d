package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"svc"
	"svc/api"
	"svc/wire"
)

const (
	dispatchRate    = 100 // runs per second
	dispatchRuns    = 1500
	dispatchWorkers = 4
)

// dispatch measures how long a run takes from the request that admits it to the
// frame that gives it to a worker.
func dispatch(ctx context.Context, r *report) (err error) {
	g, err := newOwnRig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	task, err := g.task(ctx)
	if err != nil {
		return err
	}
	if err := g.provision(ctx, dispatchWorkers); err != nil {
		return err
	}
	c, err := startChild(ctx, "dispatched")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var a dispatchAnswer
	if err := c.order(dispatchOrder{URL: g.url, Uplink: g.url, Task: task.ID, Token: userToken, WorkerToken: workerToken}, &a); err != nil {
		return err
	}
	r.info(fmt.Sprintf("request to run_dispatch, p50 and p99, %d runs/s", dispatchRate), "%s and %s ms", figure(ms(a.AskedP50)), figure(ms(a.AskedP99)))
	r.atMost("admission to run_dispatch, p50", ms(a.P50), 5, " ms")
	r.atMost("admission to run_dispatch, p99", ms(a.P99), 50, " ms")
	return nil
}

// dispatchOrder says where runs are asked for, and where the workers connect.
type dispatchOrder struct{ URL, Uplink, Task, Token, WorkerToken string }

// dispatchAnswer tells the delays until the worker had the frame: from the
// moment the run was admitted, as its created_at says, and from the request.
type dispatchAnswer struct{ P50, P99, AskedP50, AskedP99 time.Duration }

// dispatched is the child that asks for runs and has the workers.
func dispatched(ctx context.Context, p pipe) error {
	var o dispatchOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	var mu sync.Mutex
	arrived := map[string]time.Time{}
	all := make(chan struct{})
	for i := range dispatchWorkers {
		w := newFakeWorker(o.Uplink, fmt.Sprintf("host-%d", i), http.DefaultClient)
		w.token = o.WorkerToken
		if err := errors.Join(w.connect(ctx), w.ready(ctx)); err != nil {
			return err
		}
		go w.endEach(ctx, func(d *wire.RunDispatch) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			arrived[d.RunID] = now
			if len(arrived) == dispatchRuns {
				close(all)
			}
		})
	}
	asked, admitted, err := askForRuns(ctx, o)
	if err != nil {
		return err
	}
	select {
	case <-all:
	case <-time.After(30 * time.Second):
		return errors.New("not every run was dispatched")
	}
	var fromAsked, fromAdmitted []time.Duration
	for id, at := range arrived {
		fromAsked = append(fromAsked, at.Sub(asked[id]))
		fromAdmitted = append(fromAdmitted, max(at.Sub(admitted[id]), 0))
	}
	return p.tell(dispatchAnswer{percentile(fromAdmitted, 0.5), percentile(fromAdmitted, 0.99), percentile(fromAsked, 0.5), percentile(fromAsked, 0.99)})
}

// askForRuns admits runs at an even rate, whether or not the answers keep up.
func askForRuns(ctx context.Context, o dispatchOrder) (asked, admitted map[string]time.Time, err error) {
	client := &api.Client{BaseURL: o.URL, Token: o.Token}
	asked, admitted = map[string]time.Time{}, map[string]time.Time{}
	var mu sync.Mutex
	var group sync.WaitGroup
	tick := time.NewTicker(time.Second / dispatchRate)
	defer tick.Stop()
	for range dispatchRuns {
		<-tick.C
		group.Go(func() {
			began := time.Now()
			run, runErr := client.CreateRun(ctx, api.CreateRun{TaskID: o.Task, Provider: "provider_a"})
			mu.Lock()
			defer mu.Unlock()
			asked[run.ID], admitted[run.ID] = began, run.CreatedAt.Std()
			err = errors.Join(err, runErr)
		})
	}
	group.Wait()
	return asked, admitted, err
}

// endEach ends every run at once and tells of its dispatch before.
func (w *fakeWorker) endEach(ctx context.Context, tell func(*wire.RunDispatch)) {
	for {
		f, err := w.read(ctx)
		if err != nil {
			return
		}
		d, ok := f.(*wire.RunDispatch)
		if !ok {
			continue
		}
		tell(d)
		if w.end(ctx, d) != nil {
			return
		}
	}
}

// end confirms a dispatch and reports that the run started and ended.
func (w *fakeWorker) end(ctx context.Context, d *wire.RunDispatch) error {
	signal := svc.Signal{RunID: d.RunID, Attempt: d.Attempt, Kind: svc.SignalStarted, Source: svc.FromWrapper, Timestamp: svc.TimeOf(time.Now())}
	started := wire.SignalFrame{RunID: d.RunID, Signal: wire.FromSignal(signal)}
	signal.Kind = svc.SignalFinished
	finished := wire.SignalFrame{RunID: d.RunID, Signal: wire.FromSignal(signal)}
	for _, f := range []wire.Frame{wire.RunDispatchAck{RunID: d.RunID, Attempt: d.Attempt, Accepted: true}, started, finished} {
		if err := w.send(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
