package engine

import (
	"context"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// LandWorkspace requests that the host brings a checkpoint into the workspace's repository. The record is the intent,
// with all inputs of the commit. The host is asked until it has reported the outcome.
func (e *Engine) LandWorkspace(ctx context.Context, id string, n svc.NewLanding) (svc.Workspace, error) {
	if err := n.Validate(); err != nil {
		return svc.Workspace{}, err
	}
	w, err := e.changeWorkspace(ctx, id, func(tx *store.Tx, w *svc.Workspace) error {
		if err := e.mayLand(ctx, tx, w, n); err != nil {
			return err
		}
		l := svc.Landing{ID: svc.NewID(), Checkpoint: n.Checkpoint, How: n.How, Into: n.Into, Message: n.Message, By: svc.CallerName(ctx), At: tx.Now,
			State: svc.LandingOpen, Conflicts: []string{}}
		switch {
		case n.How == svc.LandPush:
			l.Into = w.Branch
		case n.Into == "":
			l.Into = w.BaseRef
		}
		if l.Message == "" {
			item, err := tx.WorkItem(ctx, w.TaskID)
			if err != nil && svc.CodeOf(err) != svc.CodeNotFound {
				return err
			}
			if err != nil {
				item.Title = "Work of " + w.Branch
			}
			l.Message = svc.LandMessage(item.Title, w, n.Checkpoint)
		}
		w.Landing = &l
		tx.Emit(svc.TopicWorkspaceLandAsked, landingPayload(w))
		return tx.UpdateWorkspace(ctx, w)
	})
	if err == nil {
		e.landings.up()
	}
	return w, err
}

// mayLand refuses a landing that is not possible, or whose checkpoint is not the newest.
func (e *Engine) mayLand(ctx context.Context, tx *store.Tx, w *svc.Workspace, n svc.NewLanding) error {
	if p, err := tx.Project(ctx, w.ProjectID); err != nil {
		return err
	} else if err := p.CheckOpen(); err != nil {
		return err
	}
	use, err := tx.WorkspaceUse(ctx, w.ID, "")
	if err != nil {
		return err
	}
	link, connected := e.Hub.Uplinks.Of(w.HostID)
	switch {
	case w.State == svc.WorkspaceRemoved:
		return svc.Errorf(svc.CodeConflict, "the workspace was removed; svc workspace restore makes a new one from its last checkpoint").With("state", w.State)
	case use.RunID != "":
		return svc.Errorf(svc.CodeWorkspaceBusy, "run %s is active in the workspace; wait for its end, or stop it", use.RunID).With("run_id", use.RunID)
	case w.Landing != nil && w.Landing.State == svc.LandingOpen:
		return landingOpen(*w)
	case w.Checkpoint > n.Checkpoint:
		return svc.Errorf(svc.CodeChangeMoved, "there is a newer checkpoint, %d; read it and land that", w.Checkpoint).With("checkpoint", w.Checkpoint)
	case w.Checkpoint < n.Checkpoint:
		return svc.Invalid("checkpoint", "there is no checkpoint %d; the newest is %d", n.Checkpoint, w.Checkpoint)
	case n.How != svc.LandPush && n.Into == "" && w.BaseRef == "":
		return svc.Invalid("into", "must be given: the branch that the workspace began at is not known")
	case !connected:
		return svc.Errorf(svc.CodeHostNotConnected, "the workspace's host is not connected; try again when it is back")
	case !link.Has(wire.CapLand):
		return svc.Errorf(svc.CodeCapabilityMissing, "the worker on the workspace's host cannot land; update it")
	}
	return nil
}

func landingOpen(w svc.Workspace) error {
	return svc.Errorf(svc.CodeConflict, "the workspace is being landed into %s; its host has not reported the outcome; svc run discard gives the landing up", w.Landing.Into).With("landing_id", w.Landing.ID)
}

func landingPayload(w *svc.Workspace) map[string]any {
	p := w.EventPayload()
	l := w.Landing
	p["landing_id"], p["checkpoint"], p["how"], p["into"] = l.ID, l.Checkpoint, l.How, l.Into
	if l.By != "" {
		p["by"] = l.By
	}
	switch l.State {
	case svc.LandingDone:
		p["commit"] = l.Commit
	case svc.LandingFailed:
		p["reason"], p["error"], p["conflicts"] = l.Reason, l.Error, l.Conflicts
	}
	return p
}

// landPoll is how often hosts are asked for the outcomes of open landings.
const landPoll = 10 * time.Second

// askLandings asks hosts repeatedly for the landings whose outcome is not known. A lost request or answer, a host
// that was away, and a worker or orchestrator that was killed need no special handling. A host that has already
// landed only reports the outcome; a landing in progress is not disturbed.
func (e *Engine) askLandings(ctx context.Context) error {
	tick := time.NewTicker(landPoll)
	defer tick.Stop()
	for {
		if err := e.askForLandings(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("hosts cannot be asked for landings; trying again", "error", err)
		}
		select {
		case <-e.landings.c:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// mostLandings is the maximum number of open landings that are asked for in one round.
const mostLandings = 1000

func (e *Engine) askForLandings(ctx context.Context) error {
	found, err := e.Store.OpenLandings(ctx, mostLandings)
	if err != nil {
		return err
	}
	for _, w := range found {
		link, ok := e.Hub.Uplinks.Of(w.HostID)
		if !ok || !link.Has(wire.CapLand) {
			continue
		}
		order := w.Landing.Order()
		if _, err := e.askHost(ctx, w, wire.WorkspaceRequest{Do: wire.WorkspaceLand, Land: &order}, false); err != nil && svc.CodeOf(err) != svc.CodeHostNotConnected {
			return err
		}
	}
	return nil
}

// ReportLanding records the outcome of a landing that a host reports. The host repeats the report until it is
// acknowledged; only the first one has an effect.
func (e *Engine) ReportLanding(ctx context.Context, who Reporter, id string, outcome svc.LandOutcome) (svc.Workspace, error) {
	err := outcome.Validate()
	if err == nil {
		err = e.paceReport(ctx, who)
	}
	if err != nil {
		return svc.Workspace{}, err
	}
	w, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Workspace, error) {
		w, err := tx.Workspace(ctx, id)
		if err != nil {
			return w, err
		}
		// The landing may move an item. Changes within one project are serialised by the project's lock, which must
		// be taken first.
		p, err := tx.LockProject(ctx, w.ProjectID)
		if err == nil {
			w, err = tx.LockWorkspace(ctx, id)
		}
		if err == nil {
			err = who.ofHost(&w)
		}
		if err != nil || !w.Landing.Awaits(outcome) {
			return w, err
		}
		if w.Settle(outcome, tx.Now) {
			topic := svc.TopicWorkspaceLandFailed
			if outcome.State == svc.LandingDone {
				topic = svc.TopicWorkspaceLanded
				if err := markLanded(ctx, tx, p, &w); err != nil {
					return w, err
				}
			}
			tx.Emit(topic, landingPayload(&w))
		}
		return w, tx.UpdateWorkspace(ctx, &w)
	})
	if err == nil && outcome.State == svc.LandingDone {
		e.claims.up() // a need may be met
	}
	return w, err
}

// markLanded moves the item of a landed workspace to done, if its project is configured so.
func markLanded(ctx context.Context, tx *store.Tx, p svc.Project, w *svc.Workspace) error {
	if p.DoneWhen != svc.DoneLanded || p.Status == svc.ProjectArchived {
		return nil
	}
	item, err := tx.WorkItem(ctx, w.TaskID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil // deleted since
	}
	if err != nil || item.Status == svc.ItemDone {
		return err
	}
	return doneBySignal(ctx, tx, item, w.RunID, w.Landing.By)
}
