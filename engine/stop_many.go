package engine

import (
	"context"

	"svc"
	"svc/store"
)

// stopUnit limits how many runs one unit of work stops: other writers wait for it.
const stopUnit = 50

// MostStopped is the maximum number of runs that one request may name.
const MostStopped = 500

// StopScope selects the runs to stop: exactly one field is set.
type StopScope struct {
	RunIDs    []string
	TaskID    string // the item and everything below it
	ProjectID string
	HostID    string
}

// Validate returns an error that names every invalid field.
func (s StopScope) Validate() error {
	var bad svc.Problems
	given := 0
	for field, id := range map[string]string{"task_id": s.TaskID, "project_id": s.ProjectID, "host_id": s.HostID} {
		if id == "" {
			continue
		}
		if given++; !svc.IsID(id) {
			bad.Add(field, "is not an id")
		}
	}
	if s.RunIDs != nil {
		given++
		if len(s.RunIDs) == 0 || len(s.RunIDs) > MostStopped {
			bad.Add("run_ids", "has %d ids; 1 to %d are allowed", len(s.RunIDs), MostStopped)
		}
		for _, id := range s.RunIDs {
			if !svc.IsID(id) {
				bad.Add("run_ids", "%.40q is not an id", id)
			}
		}
	}
	if given != 1 && len(bad) == 0 {
		bad.Add("run_ids", "give exactly one of run_ids, task_id, project_id and host_id")
	}
	return bad.Err()
}

// Stopped is the result of a request to stop runs.
type Stopped struct {
	Stopped []string `json:"stopped" nullable:"false" doc:"Runs that were active and are stopped now"`
	Skipped []string `json:"skipped" nullable:"false" doc:"Runs that were over already, or that there are not"`
}

// StopRuns stops the active runs of a scope, in several units of work, so that other writers get their turn. A retry
// stops those that are left. If the first request was completed, the retry returns the same result.
func (e *Engine) StopRuns(ctx context.Context, scope StopScope) (Stopped, error) {
	out := Stopped{Stopped: []string{}, Skipped: []string{}}
	if err := scope.Validate(); err != nil {
		return out, err
	}
	ids, err := e.scope(ctx, scope)
	if err != nil {
		return out, err
	}
	for begin := 0; begin < len(ids); begin += stopUnit {
		if err := e.stopUnit(ctx, ids[begin:min(begin+stopUnit, len(ids))], &out); err != nil {
			return out, err
		}
	}
	return once(ctx, e.Store.Write, func(*store.Tx) (Stopped, error) { return out, nil })
}

// scope returns the ids of the runs to stop.
func (e *Engine) scope(ctx context.Context, s StopScope) (ids []string, err error) {
	if s.RunIDs != nil {
		return s.RunIDs, nil
	}
	var field string
	switch {
	case s.TaskID != "":
		field = "task_id"
		_, err = e.Store.WorkItem(ctx, s.TaskID)
	case s.ProjectID != "":
		field = "project_id"
		_, err = e.Store.Project(ctx, s.ProjectID)
	default:
		field = "host_id"
		_, err = e.Store.Host(ctx, s.HostID)
	}
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil, svc.Invalid(field, "there is none with this id")
	} else if err != nil {
		return nil, err
	}
	return e.Store.ActiveRuns(ctx, svc.RunFilter{TaskID: s.TaskID, ProjectID: s.ProjectID, HostID: s.HostID})
}

func (e *Engine) stopUnit(ctx context.Context, ids []string, out *Stopped) error {
	var ended []svc.Run
	var skipped []string
	for _, id := range ids {
		e.prepareEnd(ctx, id)
	}
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		ended, skipped = nil, nil
		for _, id := range ids {
			r, err := tx.LockRun(ctx, id)
			switch {
			case svc.CodeOf(err) == svc.CodeNotFound, err == nil && !r.Status.Active():
				skipped = append(skipped, id)
				continue
			case err != nil:
				return err
			}
			if r, err = e.stop(ctx, tx, id); err != nil {
				return err
			}
			ended = append(ended, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range ended {
		e.attemptOver(ctx, r, "stopped by a person")
		out.Stopped = append(out.Stopped, r.ID)
	}
	out.Skipped = append(out.Skipped, skipped...)
	return nil
}
