package engine

import (
	"context"
	"slices"

	"svc"
	"svc/hub"
	"svc/wire"
)

// recallPage is how many runs one recall frame asks a worker for.
const recallPage = 200

// absences is the state between two inventories of one connection. The connection's reader owns it, and it ends with
// the connection: two inventories in a row must come on the same connection.
type absences struct {
	missed    map[attemptKey]bool // not in the last inventory
	unknown   map[attemptKey]bool // the worker reported that it has no record of them
	unstarted map[attemptKey]bool // in the last inventory, although no start was reported
	// outlived counts, for a session that had reported its own end, in how many inventories in a row it was.
	outlived map[attemptKey]int
}

// inventory compares the sessions that a worker has with those that it should have. Sessions whose attempt is over
// are ordered to end. If a run is missing, the worker is asked for it; a run that is missing twice in a row and of
// which the worker has no record is lost. A session that is present twice in a row although no start was reported is
// asked for too: the database was restored from a backup.
func (c *uplinkConn) inventory(ctx context.Context, held []wire.LiveRun) {
	e := c.e
	for _, s := range held {
		e.judgeSession(ctx, c.link, s)
	}
	if own, ok := e.Hub.Uplinks.Of(c.link.HostID); !ok || own != c.link {
		return // not the host's own connection: it cannot report what is absent
	}
	c.judgeClaims(ctx, held)
	given, _, err := e.confirmed.ask(ctx, c.link.HostID)
	if err != nil {
		if ctx.Err() == nil {
			e.Log.Error("an inventory cannot be compared; trying again with the next", "host_id", c.link.HostID, "error", err)
		}
		return
	}
	missed, unstarted := map[attemptKey]bool{}, map[attemptKey]bool{}
	var asked []wire.LiveRun
	for _, g := range given {
		k := attemptKey{g.RunID, g.Attempt}
		if slices.Contains(held, wire.LiveRun{RunID: g.RunID, Attempt: g.Attempt}) {
			delete(c.absent.unknown, k)
			unstarted[k] = g.Spawning
			if g.Spawning && c.absent.unstarted[k] && c.link.Has(wire.CapRecall) {
				asked = append(asked, wire.LiveRun{RunID: g.RunID, Attempt: g.Attempt})
			}
			continue
		}
		missed[k] = true
		switch {
		case c.link.Has(wire.CapRecall) && !c.absent.unknown[k]:
			asked = append(asked, wire.LiveRun{RunID: g.RunID, Attempt: g.Attempt})
		case c.absent.missed[k]:
			c.lost(ctx, k)
		}
	}
	c.absent.missed, c.absent.unstarted = missed, unstarted
	for page := range slices.Chunk(asked, recallPage) {
		_ = c.link.Send(wire.RunRecall{Runs: page})
	}
}

// judgeSession orders the end of a session whose attempt is over.
func (e *Engine) judgeSession(ctx context.Context, link *hub.Uplink, s wire.LiveRun) {
	r, err := e.live(ctx, s.RunID)
	switch {
	case svc.CodeOf(err) == svc.CodeNotFound:
		// No error: the worker reports sessions that have no record (Engine.orphan).
	case err != nil:
		e.Log.Error("a session cannot be looked up", "run_id", s.RunID, "error", err)
	case s.Attempt < r.Attempt:
		e.order(link, s.RunID, s.Attempt, reasonSuperseded)
	case s.Attempt == r.Attempt && !r.Status.Active() && r.SessionEndedAt == nil:
		e.order(link, s.RunID, s.Attempt, "run is "+string(r.Status))
	}
}

// unknownRuns stores which missing runs the worker has no record of.
func (c *uplinkConn) unknownRuns(runs []wire.LiveRun) {
	if c.absent.unknown == nil {
		c.absent.unknown = map[attemptKey]bool{}
	}
	for _, r := range runs {
		if k := (attemptKey{r.RunID, r.Attempt}); c.absent.missed[k] {
			c.absent.unknown[k] = true
		}
	}
}

// lost ends an attempt of which its host has no record: the host's data was deleted. While it is not settled which
// process is the host's own, nothing is lost.
func (c *uplinkConn) lost(ctx context.Context, k attemptKey) {
	e, hostID := c.e, c.link.HostID
	if !e.Hub.Uplinks.MayReportLoss(hostID, c.link.BootID, k.runID, min(settledAfter, e.OfflineAfter)) {
		return
	}
	h, err := e.Store.Host(ctx, hostID)
	if err == nil && !h.InstanceSuspect {
		_, err = e.Ingest(ctx, svc.Signal{RunID: k.runID, Attempt: k.attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper,
			ExitCode: -1, Reason: reasonSessionLost, Timestamp: e.now(), Via: "inventory"})
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Error("a lost run cannot be ended; trying again with the next inventory", "run_id", k.runID, "error", err)
	}
}
