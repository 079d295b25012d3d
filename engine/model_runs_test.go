package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"svc"
	"svc/wire"
)

// runHistory drives runs through random histories on real uplinks, and records what it observes to check the
// guarantees.
type runHistory struct {
	s       *site
	task    string
	workers []*worker
	runs    []string

	sent   []dispatch                  // every dispatch that reached a worker
	holder map[dispatchKey]string      // the last host that it was sent to
	nacked map[dispatchKey][]string    // hosts that gave it back
	newest map[string]int              // the highest dispatched attempt
	ends   map[string]end              // the last observed terminal status
	topics map[dispatchKey][]svc.Topic // journaled, per attempt
	last   map[string]end              // the last journaled end of each run
}

type dispatchKey struct {
	run     string
	attempt int
}

type dispatch struct {
	dispatchKey
	to *worker
}

type end struct {
	attempt int
	status  svc.RunStatus
}

func TestRunsKeepTheirPromisesInAnyHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		short := func(c *Config) { // fewer ticks to wait for
			c.DispatchTimeout, c.OfflineAfter, c.AckTimeout = 30*time.Second, 20*time.Second, 5*time.Second
		}
		s := start(t, dir, short)
		task := s.task(s.project()).ID
		n := 0
		noDeadline := struct{ testing.TB }{t} // the deadline of the test does not apply to the bubble's clock
		rapid.Check(noDeadline, func(rt *rapid.T) {
			n++
			h := newHistory(s, task, n)
			defer h.close(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"admit":   h.admit,
				"answer":  h.answer,
				"answer2": h.answer,
				"signal":  h.signal,
				"signal2": h.signal,
				"signal3": h.signal,
				"stop":    h.stop,
				"link":    h.link,
				"drain":   h.drain,
				"pass":    h.pass,
				"":        h.check,
			})
			h.settleDown(rt)
		})
	})
}

// newHistory creates three hosts, one of them connected.
func newHistory(s *site, task string, n int) *runHistory {
	h := &runHistory{s: s, task: task, holder: map[dispatchKey]string{}, nacked: map[dispatchKey][]string{}, newest: map[string]int{},
		ends: map[string]end{}, topics: map[dispatchKey][]svc.Topic{}, last: map[string]end{}}
	for _, name := range []string{"a", "b", "c"} {
		w := s.newHost(fmt.Sprint(name, n), func(n *svc.NewHost) {
			if name == "c" {
				n.MaxRuns = ptr(1)
			}
		})
		w.register(wire.Capabilities...)
		h.workers = append(h.workers, w)
	}
	h.workers[0].connect()
	h.workers[0].beat()
	s.news()
	return h
}

// close ends all runs and deletes all hosts, so that the next history starts empty.
func (h *runHistory) close(t *rapid.T) {
	for _, id := range h.runs {
		r, err := h.s.Run(h.s.ctx, id)
		if err == nil && r.Status.Active() {
			r, err = h.s.StopRun(h.s.ctx, id)
		}
		if err == nil && r.SessionOpen() {
			_, err = h.s.signal(r, svc.SignalFinished)
		}
		if err != nil {
			t.Errorf("a history does not end: %v", err)
		}
	}
	for _, w := range h.workers {
		if w.conn != nil {
			w.drop()
		}
		if err := h.s.DeleteHost(h.s.ctx, w.host.ID, nil); err != nil {
			t.Errorf("a history does not end: %v", err)
		}
	}
}

func (h *runHistory) admit(t *rapid.T) {
	if len(h.runs) >= 6 {
		t.Skip("enough runs")
	}
	n := svc.NewRun{TaskID: h.task, Provider: "provider_a", MaxRestarts: ptr(2),
		RestartPolicy: rapid.SampledFrom([]svc.RestartPolicy{svc.RestartNever, svc.RestartOnFailure, svc.RestartAlways}).Draw(t, "policy")}
	if rapid.IntRange(0, 3).Draw(t, "pin") == 0 {
		n.HostID = &rapid.SampledFrom(h.workers).Draw(t, "host").host.ID
	}
	r, err := h.s.CreateRun(h.s.ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	h.runs = append(h.runs, r.ID)
}

// answer sends an ack or a nack, from the host that was sent the dispatch or from another one, now or much later.
func (h *runHistory) answer(t *rapid.T) {
	if len(h.sent) == 0 {
		t.Skip("nothing was dispatched")
	}
	d := h.sent[len(h.sent)-1]
	if rapid.IntRange(0, 2).Draw(t, "old") == 0 {
		d = rapid.SampledFrom(h.sent).Draw(t, "dispatch")
	}
	w := d.to
	if rapid.IntRange(0, 5).Draw(t, "stranger") == 0 {
		w = rapid.SampledFrom(h.workers).Draw(t, "worker")
	}
	if w.conn == nil {
		t.Skip("the worker is away")
	}
	w.send(wire.RunDispatchAck{RunID: d.run, Attempt: d.attempt, Accepted: rapid.IntRange(0, 3).Draw(t, "accepted") > 0})
}

// signal posts a signal of the current attempt, an earlier one or a later one.
func (h *runHistory) signal(t *rapid.T) {
	if len(h.runs) == 0 {
		t.Skip("there is no run")
	}
	r, err := h.s.Run(h.s.ctx, rapid.SampledFrom(h.runs).Draw(t, "run"))
	if err != nil {
		t.Fatal(err)
	}
	h.observe(t)
	sig := svc.Signal{RunID: r.ID, Source: svc.FromHook, Result: svc.ResultSuccess, Timestamp: 1, Via: "http",
		Kind:     rapid.SampledFrom([]svc.SignalKind{svc.SignalStarted, svc.SignalStarted, svc.SignalFinished, svc.SignalCompleted, svc.SignalFailed, svc.SignalProgress}).Draw(t, "kind"),
		Attempt:  r.Attempt + rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "attempt"),
		ExitCode: rapid.IntRange(0, 1).Draw(t, "code"), Seq: rapid.Int64Range(1, 20).Draw(t, "seq")}
	if rapid.Bool().Draw(t, "wrapper") {
		sig.Source = svc.FromWrapper
	}
	outcome, err := h.s.Ingest(h.s.ctx, sig)
	told := 0
	for _, e := range h.observe(t) {
		if e.Topic == svc.TopicRunStarted || e.Topic == svc.TopicRunFinished || e.Topic == svc.TopicRunFailed || e.Topic == svc.TopicRunSignal {
			told++
		}
	}
	switch {
	case sig.Attempt > r.Attempt:
		wantCode(t, "a signal of the future", err, svc.CodeInvalidAttempt)
	case err != nil:
		t.Fatal(err)
	case sig.Attempt < r.Attempt && outcome != svc.DeadAttempt:
		t.Fatalf("a signal of attempt %d at attempt %d is %s", sig.Attempt, r.Attempt, outcome)
	}
	if want := outcome == svc.Applied; (told == 1) != want || told > 1 {
		t.Fatalf("%s of attempt %d in %s at attempt %d is %q and journaled %d events", sig.Kind, sig.Attempt, r.Status, r.Attempt, outcome, told)
	}
}

func (h *runHistory) stop(t *rapid.T) {
	if len(h.runs) == 0 || rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("not now")
	}
	r, err := h.s.Run(h.s.ctx, rapid.SampledFrom(h.runs).Draw(t, "run"))
	if err != nil {
		t.Fatal(err)
	}
	want := svc.Code("")
	if !r.Status.Active() {
		want = svc.CodeRunNotActive
	}
	_, err = h.s.StopRun(h.s.ctx, r.ID)
	wantCode(t, "stop of a run that is "+string(r.Status), err, want)
}

func (h *runHistory) link(t *rapid.T) {
	w := rapid.SampledFrom(h.workers).Draw(t, "worker")
	switch {
	case w.conn == nil:
		w.connect()
		w.beat()
	case rapid.IntRange(0, 2).Draw(t, "drop") == 0:
		w.drop()
	default:
		w.beat()
	}
}

func (h *runHistory) drain(t *rapid.T) {
	w := rapid.SampledFrom(h.workers).Draw(t, "worker")
	if rapid.Bool().Draw(t, "disable") {
		_, err := h.s.DisableHost(h.s.ctx, w.host.ID)
		wantCode(t, "disable", err, "")
	} else {
		_, err := h.s.EnableHost(h.s.ctx, w.host.ID)
		wantCode(t, "enable", err, "")
	}
}

func (h *runHistory) pass(t *rapid.T) {
	h.s.pass(rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 25 * time.Second}).Draw(t, "time"))
}

// observe reads what was journaled and dispatched, and checks it.
func (h *runHistory) observe(t *rapid.T) []svc.Event {
	h.s.settle()
	events := h.s.news()
	for _, e := range events {
		run, ok := field(e, "run_id").(string)
		if !ok {
			continue
		}
		attempt, _ := field(e, "attempt").(float64)
		status, _ := field(e, "status").(string)
		k := dispatchKey{run, int(attempt)}
		if by, ok := field(e, "refused_by").(string); ok {
			h.nacked[k] = append(h.nacked[k], by)
		}
		h.topics[k] = append(h.topics[k], e.Topic)
		if before := h.last[run]; k.attempt < before.attempt || k.attempt > before.attempt+1 {
			t.Fatalf("%s speaks of attempt %d after %d", e.Topic, k.attempt, before.attempt)
		}
		h.last[run] = end{k.attempt, svc.RunStatus(status)}
	}
	type arrival struct {
		at time.Time
		dispatch
	}
	var came []arrival
	for _, w := range h.workers {
		frames, times := w.takeTimed()
		for i, f := range frames {
			if d, ok := f.(*wire.RunDispatch); ok {
				came = append(came, arrival{times[i], dispatch{dispatchKey{d.RunID, d.Attempt}, w}})
			}
		}
	}
	slices.SortStableFunc(came, func(a, b arrival) int { return a.at.Compare(b.at) })
	for _, d := range came {
		h.dispatched(t, d.dispatchKey, d.to)
	}
	return events
}

func (h *runHistory) dispatched(t *rapid.T, k dispatchKey, w *worker) {
	if before := h.holder[k]; before != "" && before != w.host.ID && !slices.Contains(h.nacked[k], before) {
		t.Fatalf("attempt %d went to a second host though the first did not refuse it", k.attempt)
	}
	if slices.Contains(h.nacked[k], w.host.ID) {
		t.Fatalf("attempt %d went to a host that had refused it", k.attempt)
	}
	if k.attempt < h.newest[k.run] {
		t.Fatalf("attempt %d was dispatched after attempt %d", k.attempt, h.newest[k.run])
	}
	h.holder[k], h.newest[k.run] = w.host.ID, k.attempt
	h.sent = append(h.sent, dispatch{k, w})
}

// check compares the records with what was observed.
func (h *runHistory) check(t *rapid.T) {
	h.observe(t)
	for k, topics := range h.topics {
		count := func(topic svc.Topic) (n int) {
			for _, x := range topics {
				if x == topic {
					n++
				}
			}
			return n
		}
		for _, once := range []svc.Topic{svc.TopicRunStarted, svc.TopicRunFinished, svc.TopicRunFailed, svc.TopicRunStopped, svc.TopicRunCreated} {
			if count(once) > 1 {
				t.Fatalf("attempt %d has %s %d times: %v", k.attempt, once, count(once), topics)
			}
		}
		if count(svc.TopicRunFinished) > 0 && count(svc.TopicRunFailed) > 0 {
			t.Fatalf("attempt %d finished and failed: %v", k.attempt, topics)
		}
	}
	for _, id := range h.runs {
		r, err := h.s.Run(h.s.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		now := end{r.Attempt, r.Status}
		if h.last[id] != now {
			t.Fatalf("the run is at %v, the journal says %v", now, h.last[id])
		}
		if before, ended := h.ends[id]; ended && before.attempt == r.Attempt && before.status != r.Status {
			t.Fatalf("attempt %d was %s and is now %s", r.Attempt, before.status, r.Status)
		}
		if !r.Status.Active() {
			h.ends[id] = now
		}
		if (r.Status == svc.RunSpawning || r.Status == svc.RunRunning) != (r.HostID != nil && r.Status.Active()) {
			t.Fatalf("a %s run has host %v", r.Status, r.HostID)
		}
		if r.Attempt > r.MaxRestarts+1 {
			t.Fatalf("attempt %d of a run with %d restarts", r.Attempt, r.MaxRestarts)
		}
	}
}

// settleDown ends a history: with a suitable host, no run waits without a reason; without one, no run waits for ever.
func (h *runHistory) settleDown(t *rapid.T) {
	for _, w := range h.workers {
		if w.conn == nil {
			w.connect()
		}
		w.beat()
		_, err := h.s.EnableHost(h.s.ctx, w.host.ID)
		wantCode(t, "enable", err, "")
	}
	h.s.pass(8 * time.Second) // the longest back-off here
	h.check(t)
	for _, id := range h.runs {
		d, err := h.s.RunDetail(h.s.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if d.Status != svc.RunPending || d.Waiting.NotBefore != nil && *d.Waiting.NotBefore > h.s.now() {
			continue // a new attempt may have begun just now
		}
		for _, why := range d.Waiting.Hosts {
			if why.Why == "eligible" {
				t.Fatalf("a run is pending although %s would take it: %+v", why.Name, d)
			}
		}
	}
	for _, w := range h.workers {
		w.drop()
	}
	h.s.pass(2 * time.Minute) // two restarts and three waits
	h.check(t)
	for _, id := range h.runs {
		r, err := h.s.Run(h.s.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		waits := r.Status == svc.RunSpawning && (r.Acked || r.RestartPolicy == svc.RestartNever || r.Attempt > r.MaxRestarts)
		if r.Status.Active() && r.Status != svc.RunRunning && !waits {
			t.Fatalf("a run is %s for no reason: %+v", r.Status, r)
		}
	}
}
