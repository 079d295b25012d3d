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

// How the spool is looked at and how hard delivery is tried.
const (
	spoolPoll      = time.Second     // besides the notification: a wake-up is never the truth
	hookGrace      = 2 * time.Second // a hook delivers its own signal; the worker is the second
	mostDeliveries = 8               // runs whose signals are delivered at the same time
	replayTries    = 3               // an orchestrator that answers with errors delays heartbeats no longer
	retryFirst     = time.Second
	retryMost      = 30 * time.Second
	replayPause    = 500 * time.Millisecond
	seenForgotAt   = 10_000
)

// spooler is the only way out for signals. Wrappers, hooks and the worker put
// them on disk; the spooler delivers them to the signal endpoint, those of a
// run in order, runs independent of each other.
//
// A signal may travel as a frame of the uplink or through the signal endpoint:
// same contract, same ingest guard. The spooler uses the endpoint alone, because
// a frame has no answer. A signal that was written to a socket may be lost with
// it, while a 200 says that the orchestrator has it for good, and only then the
// file may go.
type spooler struct {
	w    *Worker
	kick chan struct{}
	slot chan struct{} // one token for each delivery under way

	index   *rundir.SpoolIndex
	depth   atomic.Int64      // signals that the last pass found waiting
	watcher *fsnotify.Watcher // nil: there is none, or not yet

	mu   sync.Mutex // guards the fields below
	busy map[string]bool
	idle chan struct{} // closed and replaced when a delivery has finished
	// retry has the runs whose last delivery failed.
	retry map[string]retry
	seen  map[string]time.Time // since when a file is known, by path
	ends  map[key]*pendingEnd  // the ends that wait
	gated map[string]bool      // runs whose delivery waits for their session, not for the orchestrator
	// outage says when the next delivery may be tried while none is answered and there is no uplink.
	// Its pause is 0 when there is no outage. Each of many runs trying for itself would be a storm.
	outage retry
	// broken counts the deliveries that began since the last replay and got no answer.
	broken   int
	epoch    int // counts the replays
	lastFail error
}

type retry struct {
	at    time.Time
	pause time.Duration
	// refused says that the orchestrator takes signals, but not this one.
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

// run delivers what comes until ctx ends.
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

// watch tells of new files. Without a watcher the poll does.
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
			case <-watcher.Errors: // the poll finds what was missed
			}
		}
	})
	return changes
}

// follow also watches the spool of an attempt. The watch ends with the folder; without one the poll does.
func (p *spooler) follow(a rundir.Attempt) {
	p.mu.Lock()
	watcher := p.watcher
	p.mu.Unlock()
	if watcher != nil {
		_ = watcher.Add(a.SpoolPath())
	}
}

// replay delivers all that waits, whatever was tried before, and returns when
// it is out. An orchestrator that cannot be reached is an error; one that
// answers with errors is asked a few times, then the entries stay for later: a
// signal that it cannot digest must not keep the host offline.
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

// settle starts a delivery for everything and waits until all have finished.
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
			continue // they were through before we looked
		}
		select {
		case <-ctx.Done():
			return waiting, ctx.Err()
		case <-idle:
		case <-time.After(spoolPoll):
		}
	}
}

// pass reads the spool once and starts a delivery for each run that has none
// and may be tried. It answers how many signals wait for the orchestrator.
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

// mayTry reports whether a delivery may be tried: always, or in an outage one at a time, once in a while.
func (p *spooler) mayTry(now time.Time) bool {
	connected := p.w.uplink() != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	return connected || p.outage.pause == 0 || !now.Before(p.outage.at) && len(p.busy) == 0
}

// due cuts a run's signals at the first that its hook may still be delivering. What comes before an
// end is delivered at once: its hook is gone or as good as gone, and what both deliver counts once.
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

// send starts a delivery unless the run has one.
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

// settled notes the outcome of a delivery.
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
		if !now.Before(p.outage.at) { // those that were under way together count once
			p.outage = p.outage.later(now)
		}
	}
}

// later is the try after one more failure.
func (r retry) later(now time.Time) retry {
	pause := min(max(r.pause*2, retryFirst), retryMost)
	return retry{at: now.Add(pause), pause: pause}
}

// forget drops what is known of a file that is gone.
func (p *spooler) forget(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, path)
}
