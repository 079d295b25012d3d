package main

import (
	"context"
	"encoding/json"
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

// dispatch measures the time from the request that admits a run to the frame that dispatches it to a worker.
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
	o := dispatchOrder{URL: g.url, Uplink: g.url, Task: task.ID, Token: userToken, WorkerToken: workerToken, Instances: newInstances()}
	if err := c.order(o, &a); err != nil {
		return err
	}
	r.info(fmt.Sprintf("request to run_dispatch, p50 and p99, %d runs/s", dispatchRate), "%s and %s ms", figure(ms(a.AskedP50)), figure(ms(a.AskedP99)))
	r.atMost("admission to run_dispatch, p50", ms(a.P50), 5, " ms")
	r.atMost("admission to run_dispatch, p99", ms(a.P99), 50, " ms")
	return nil
}

// dispatchOrder has the addresses at which runs are created and to which the workers connect.
type dispatchOrder struct {
	URL, Uplink, Task, Token, WorkerToken string
	// Instances are the workers' identities. Workers that connect again as the same hosts must have the same ones:
	// with others the hosts would be suspect and get no runs.
	Instances []string
}

// dispatchAnswer has the delays until the worker had the frame: P50 and P99 from the admission of the run (its
// created_at), AskedP50 and AskedP99 from the request.
type dispatchAnswer struct{ P50, P99, AskedP50, AskedP99 time.Duration }

func newInstances() []string {
	ids := make([]string, dispatchWorkers)
	for i := range ids {
		ids[i] = svc.NewID()
	}
	return ids
}

// dispatched is the child process that creates runs and has the workers.
func dispatched(ctx context.Context, p pipe) error {
	var o dispatchOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	arrived := &arrivals{at: map[string]time.Time{}, more: make(chan struct{}, 1)}
	for i, instance := range o.Instances {
		w := newFakeWorker(o.Uplink, fmt.Sprintf("host-%d", i), http.DefaultClient)
		w.token, w.instance = o.WorkerToken, instance
		if err := w.connect(ctx); err != nil {
			return err
		}
		if err := w.ready(ctx); err != nil {
			return err
		}
		go w.endEach(ctx, arrived.note)
	}
	asked, admitted, err := askForRuns(ctx, o)
	if err != nil {
		return err
	}
	if err := arrived.wait(asked); err != nil {
		return errors.Join(err, whyWaiting(ctx, o))
	}
	var fromAsked, fromAdmitted []time.Duration
	for id := range asked {
		at := arrived.at[id]
		fromAsked = append(fromAsked, at.Sub(asked[id]))
		fromAdmitted = append(fromAdmitted, max(at.Sub(admitted[id]), 0))
	}
	return p.tell(dispatchAnswer{percentile(fromAdmitted, 0.5), percentile(fromAdmitted, 0.99), percentile(fromAsked, 0.5), percentile(fromAsked, 0.99)})
}

// arrivals stores when each run first arrived at a worker.
type arrivals struct {
	more chan struct{} // signals that a run has arrived
	mu   sync.Mutex    // guards the rest
	at   map[string]time.Time
}

func (a *arrivals) note(d *wire.RunDispatch) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, has := a.at[d.RunID]; !has {
		a.at[d.RunID] = now
	}
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// wait returns when all of the runs have arrived.
func (a *arrivals) wait(runs map[string]time.Time) error {
	deadline := time.After(30 * time.Second)
	for {
		missing := 0
		a.mu.Lock()
		for id := range runs {
			if _, has := a.at[id]; !has {
				missing++
			}
		}
		a.mu.Unlock()
		if missing == 0 {
			return nil
		}
		select {
		case <-a.more:
		case <-deadline:
			return fmt.Errorf("%d of %d runs were not dispatched", missing, len(runs))
		}
	}
}

// whyWaiting returns an error with the orchestrator's reason why a run was not dispatched.
func whyWaiting(ctx context.Context, o dispatchOrder) error {
	client := &api.Client{BaseURL: o.URL, Token: o.Token}
	list, err := client.Runs(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunPending}}, svc.Page{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return errors.Join(errors.New("no run is pending"), err)
	}
	run, err := client.RunDetail(ctx, list.Items[0].ID)
	if err != nil {
		return err
	}
	why, err := json.Marshal(run.Waiting)
	return errors.Join(fmt.Errorf("a run waits: %s", why), err)
}

// askForRuns creates runs at a constant rate, whether or not earlier requests were answered.
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

// endEach calls tell for each dispatch and then ends the run at once.
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
	w.turn.Lock()
	defer w.turn.Unlock()
	for _, f := range []wire.Frame{wire.RunDispatchAck{RunID: d.RunID, Attempt: d.Attempt, Accepted: true}, started, finished} {
		if err := w.send(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
