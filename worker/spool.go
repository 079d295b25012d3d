package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"svc"
	"svc/rundir"
)

// The intervals and limits of the spool's delivery.
const (
	spoolPoll      = time.Second     // in addition to notifications, which may be missed
	hookGrace      = 2 * time.Second // a hook delivers its own signal; the worker delivers it only after this time
	mostDeliveries = 8               // signals that are delivered at the same time
	replayTries    = 3               // then heartbeats begin, even if the orchestrator answers with errors
	retryFirst     = time.Second
	retryMost      = 30 * time.Second
	replayPause    = 500 * time.Millisecond
	seenForgotAt   = 10_000
)

// spooler delivers all signals. Wrappers, hooks and the worker write them to disk; the spooler posts them to
// the signal endpoint, those of one run in order, different runs independently.
//
// A signal may be sent as a frame of the uplink or through the signal endpoint, with the same contract and the
// same ingest guard. The spooler uses only the endpoint, because a frame has no answer: a signal that was
// written to a socket may be lost with it, while status 200 means that the orchestrator has stored it. Only
// then the file is deleted.
type spooler struct {
	w    *Worker
	kick chan struct{}
	slot chan struct{} // one token for each delivery under way

	index   *rundir.SpoolIndex
	depth   atomic.Int64      // undelivered signals at the last pass
	watcher *fsnotify.Watcher // nil: there is none, or not yet

	mu   sync.Mutex // guards the fields below
	busy map[string]bool
	idle chan struct{} // closed and replaced when a delivery has finished
	// retry has the runs whose last delivery failed.
	retry map[string]retry
	seen  map[string]time.Time // when a file was first seen, by path
	ends  map[key]*pendingEnd  // the ends that are not delivered
	gated map[string]bool      // runs whose delivery waits for their session, not for the orchestrator
	// outage is the back-off of all deliveries while none is answered and there is no uplink, since separate
	// retries of many runs would overload the orchestrator. Its pause is 0 when there is no outage.
	outage retry
	// broken counts the deliveries that were started since the last replay and got no answer.
	broken   int
	epoch    int // counts the replays
	lastFail error
}

type retry struct {
	at    time.Time
	pause time.Duration
	// refused is set when the orchestrator accepts signals, but not this one.
	refused bool
}

func newSpooler(w *Worker) *spooler {
	return &spooler{
		w: w, index: w.dir.IndexSpool(), kick: make(chan struct{}, 1), slot: make(chan struct{}, mostDeliveries),
		busy: map[string]bool{}, idle: make(chan struct{}), retry: map[string]retry{}, seen: map[string]time.Time{},
		ends: map[key]*pendingEnd{}, gated: map[string]bool{},
	}
}

// wakeUp makes the spooler read the spool now.
func (p *spooler) wakeUp() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// run delivers signals until ctx ends.
func (p *spooler) run(ctx context.Context) {
	changes := p.watch(ctx)
	tick := time.NewTicker(spoolPoll)
	defer tick.Stop()
	for {
		p.pass(ctx, false)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.kick:
		case <-changes:
		}
	}
}

// watch returns a channel that receives after a change of the spool. It is nil when the spool cannot be watched
// and is only polled.
func (p *spooler) watch(ctx context.Context) <-chan struct{} {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		err = watcher.Add(p.w.dir.SpoolPath())
	}
	if err != nil {
		p.w.log.Warn("the spool is polled: it cannot be watched", "error", err)
		if watcher != nil {
			_ = watcher.Close()
		}
		return nil
	}
	p.mu.Lock()
	p.watcher = watcher
	p.mu.Unlock()
	for _, a := range p.w.attempts() {
		p.follow(a)
	}
	changes := make(chan struct{}, 1)
	p.w.tasks.Go(func() {
		defer func() { _ = watcher.Close() }()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-watcher.Events:
				if !open {
					return
				}
				select {
				case changes <- struct{}{}:
				default:
				}
			case <-watcher.Errors: // missed files are found by polling
			}
		}
	})
	return changes
}

// follow also watches the spool of an attempt. The watch ends when the folder is removed; without a watch,
// polling finds the signals.
func (p *spooler) follow(a rundir.Attempt) {
	p.mu.Lock()
	watcher := p.watcher
	p.mu.Unlock()
	if watcher != nil {
		_ = watcher.Add(a.SpoolPath())
	}
}

// replay delivers all waiting signals, regardless of their back-off. It returns an error if the orchestrator
// cannot be reached. If the orchestrator answers with errors, replay tries replayTries times and leaves the
// rest in the spool: a signal that the orchestrator always refuses must not keep the host offline.
func (p *spooler) replay(ctx context.Context) error {
	for try := range replayTries {
		p.mu.Lock()
		clear(p.retry)
		p.outage = retry{}
		p.broken = 0
		p.epoch++
		p.mu.Unlock()
		left, err := p.settle(ctx)
		if err != nil || left == 0 {
			return err
		}
		if try == replayTries-1 {
			p.w.log.Warn("signals stay in the spool: the orchestrator answers with errors", "signals", left)
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(replayPause):
		}
	}
	return nil
}

// settle starts a delivery for every run and waits until all have finished. It returns how many signals are
// left.
func (p *spooler) settle(ctx context.Context) (left int, err error) {
	for {
		waiting := p.pass(ctx, true)
		p.mu.Lock()
		onTheWay, idle, broken, fail, failed := len(p.busy)-len(p.gated), p.idle, p.broken, p.lastFail, len(p.retry)
		p.mu.Unlock()
		switch {
		case broken > 0:
			return waiting, fail
		case onTheWay == 0 && (waiting == 0 || failed > 0):
			return waiting, nil
		case onTheWay == 0 && ctx.Err() == nil:
			continue // the deliveries had finished before their number was read
		}
		select {
		case <-ctx.Done():
			return waiting, ctx.Err()
		case <-idle:
		case <-time.After(spoolPoll):
		}
	}
}

// pass reads the spool once and starts a delivery for each run that has none and may be tried. It returns how
// many signals wait for the orchestrator.
func (p *spooler) pass(ctx context.Context, eager bool) (waiting int) {
	entries, bad, err := p.index.Pending(p.w.attempts())
	if err != nil {
		p.w.log.Error("the spool cannot be read", "error", err)
		return 0
	}
	p.depth.Store(int64(len(entries)))
	for _, path := range bad {
		p.w.log.Error("a damaged signal was set aside", "path", path)
	}
	now := time.Now()
	p.noteEnds(entries)
	for start := 0; start < len(entries); {
		end := start
		for end < len(entries) && entries[end].RunID() == entries[start].RunID() {
			end++
		}
		if eager || p.mayTry(now) {
			p.send(ctx, p.due(entries[start:end], now, eager))
		}
		if !p.isGated(entries[start].RunID()) {
			waiting += end - start
		}
		start = end
	}
	return waiting
}

// mayTry reports whether a delivery may be tried: always, except that in an outage only one is tried at a time,
// with back-off.
func (p *spooler) mayTry(now time.Time) bool {
	connected := p.w.uplink() != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	return connected || p.outage.pause == 0 || !now.Before(p.outage.at) && len(p.busy) == 0
}

// due returns a run's signals up to the first one that its hook may still be delivering. Signals before an end
// are not held back: their hooks have ended or soon will, and a signal that is delivered twice counts once.
func (p *spooler) due(entries []rundir.Entry, now time.Time, eager bool) []rundir.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	again, failed := p.retry[entries[0].RunID()]
	if failed && now.Before(again.at) && !p.firstTryOfOverdue(entries) {
		return nil
	}
	if len(p.seen) > seenForgotAt {
		clear(p.seen)
	}
	cut := len(entries)
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		since, known := p.seen[e.Path]
		if !known {
			since = now
			p.seen[e.Path] = now
		}
		ended := p.ends[key{e.RunID(), e.Attempt()}] != nil
		if !eager && !ended && e.Frame.Source == svc.FromHook && now.Sub(since) < hookGrace {
			cut = i
		}
	}
	return entries[:cut]
}

// send starts a delivery unless one is running for the run.
func (p *spooler) send(ctx context.Context, entries []rundir.Entry) {
	if len(entries) == 0 {
		return
	}
	run := entries[0].RunID()
	p.mu.Lock()
	if p.busy[run] || ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	p.busy[run] = true
	epoch := p.epoch
	p.mu.Unlock()
	p.w.tasks.Go(func() {
		err := p.deliver(ctx, entries)
		p.settled(run, epoch, err)
		if err != nil && ctx.Err() == nil {
			p.w.log.Log(ctx, slog.LevelWarn, "signals wait in the spool", "run_id", run, "error", err)
		}
	})
}

// settled records the outcome of a delivery.
func (p *spooler) settled(run string, epoch int, err error) {
	refusal := aboutTheSignal(err)
	if err != nil && !refusal {
		p.beginAnew(run)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, run)
	close(p.idle)
	p.idle = make(chan struct{})
	if err == nil {
		delete(p.retry, run)
		p.outage = retry{}
		p.wakeUp()
		return
	}
	now := time.Now()
	again := p.retry[run].later(now)
	again.refused = refusal
	p.retry[run] = again
	var answered *refused
	switch {
	case errors.As(err, &answered):
		p.outage = retry{}
	case epoch == p.epoch:
		p.broken++
		p.lastFail = err
		if !now.Before(p.outage.at) { // failures of parallel deliveries count once
			p.outage = p.outage.later(now)
		}
	}
}

// later returns the next try after one more failure, with twice the pause.
func (r retry) later(now time.Time) retry {
	pause := min(max(r.pause*2, retryFirst), retryMost)
	return retry{at: now.Add(pause), pause: pause}
}

// forget removes the state of a file that was delivered.
func (p *spooler) forget(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, path)
}
