package engine

import (
	"context"
	"time"

	"svc"
)

// Observer receives measured durations. Its functions must not block.
type Observer struct {
	Committed    func(time.Duration) // a group of units of work, in the database
	Acknowledged func(time.Duration) // a dispatch, from its push to the durable acknowledgement
}

// Observe sets the observer. Each call replaces the previous observer.
func (e *Engine) Observe(o Observer) {
	e.observer.Store(&o)
	e.Store.ObserveCommits(o.Committed)
}

// Figures are current measurements for operators.
type Figures struct {
	Uplinks      int   // connections of workers
	WriterQueue  int   // units of work that wait for the writer
	RelayedBytes int64 // of logs, since the process started

	// Figures that are read from the database. Nil maps: this engine is a standby; the leader reports them.
	Hosts         map[svc.HostStatus]int
	Runs          map[svc.RunStatus]int // the active ones
	OldestWaiting time.Duration         // of the run that waits longest for a host; 0: none waits
	FeedLag       int64                 // events that are committed but not yet available to streams
}

// Figures reads the figures. If the database does not respond, it returns the first three together with the error.
func (e *Engine) Figures(ctx context.Context) (Figures, error) {
	f := Figures{Uplinks: e.Hub.Uplinks.Count(), WriterQueue: e.Store.Queued(), RelayedBytes: e.Hub.Relay.Appended()}
	fed := e.feed.head() // read before the journal's head, so the lag is never negative
	head, _, err := e.Store.JournalEnds(ctx)
	if err != nil {
		return f, err
	}
	f.FeedLag = head - fed
	if e.Standby {
		return f, nil
	}
	now := e.now()
	runs, err := e.Store.RunFigures(ctx, now)
	if err != nil {
		return f, err
	}
	hosts, err := e.Store.AllHosts(ctx)
	if err != nil {
		return f, err
	}
	f.Runs, f.Hosts = runs.Count, map[svc.HostStatus]int{}
	if runs.Waiting > 0 {
		f.OldestWaiting = max(0, now.Std().Sub(runs.Waiting.Std()))
	}
	for _, h := range hosts {
		f.Hosts[h.Status]++
	}
	return f, nil
}
