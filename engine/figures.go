package engine

import (
	"context"
	"time"

	"svc"
)

// Observer is called with what takes time. Its functions must not wait.
type Observer struct {
	Committed    func(time.Duration) // a group of units, by the database
	Acknowledged func(time.Duration) // a dispatch, from its push to the durable acknowledgement
}

// Observe sets who is called; the last call counts.
func (e *Engine) Observe(o Observer) {
	e.observer.Store(&o)
	e.Store.ObserveCommits(o.Committed)
}

// Figures are the numbers of the moment that operators watch.
type Figures struct {
	Uplinks      int   // connections of workers
	WriterQueue  int   // units of work that wait for the database
	RelayedBytes int64 // of logs, since the process began

	// What only the database knows. Nil maps: this engine stands by, and the one that leads tells of what concerns all.
	Hosts         map[svc.HostStatus]int
	Runs          map[svc.RunStatus]int // the active ones
	OldestWaiting time.Duration         // of the run that waits longest for a host; 0: none waits
	FeedLag       int64                 // events that are committed and not yet ready for the streams
}

// Figures reads them. When the database does not answer, the first three are
// given beside the error.
func (e *Engine) Figures(ctx context.Context) (Figures, error) {
	f := Figures{Uplinks: e.Hub.Uplinks.Count(), WriterQueue: e.Store.Queued(), RelayedBytes: e.Hub.Relay.Appended()}
	fed := e.feed.head() // before the journal's: a lag is never negative
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
