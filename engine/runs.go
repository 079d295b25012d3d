package engine

import (
	"context"
	"errors"
	"slices"

	"svc"
	"svc/store"
)

// builtinProviders are accepted whether or not any catalog has them: a run for
// one that no host has fails to spawn and says so.
var builtinProviders = []string{"provider_a", "provider_b", "provider_c", "provider_d"}

// CreateRun admits a run. It never waits for a host: placement comes later.
func (e *Engine) CreateRun(ctx context.Context, n svc.NewRun) (svc.Run, error) {
	if err := n.Validate(); err != nil {
		return svc.Run{}, err
	}
	if err := checkSendable(n); err != nil {
		return svc.Run{}, err
	}
	r, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Run, error) { return e.admit(ctx, tx, n) })
	if err == nil {
		e.claims.up()
	}
	return r, err
}

func (e *Engine) admit(ctx context.Context, tx *store.Tx, n svc.NewRun) (svc.Run, error) {
	task, err := tx.LockRunTarget(ctx, n.TaskID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Run{}, svc.Invalid("task_id", "there is no work item %s", n.TaskID)
	} else if err != nil {
		return svc.Run{}, err
	}
	if !task.Kind.Runnable() {
		return svc.Run{}, svc.Errorf(svc.CodeInvalidTaskKind, "task_id: a %s cannot be run; only a task or a subtask can", task.Kind).
			With("fields", map[string]any{"task_id": "must be a task or a subtask"})
	}
	if err := task.Project.CheckOpen(); err != nil {
		return svc.Run{}, err
	}
	if err := e.checkProvider(ctx, tx, n.Provider); err != nil {
		return svc.Run{}, err
	}
	if err := checkPrompt(ctx, tx, n); err != nil {
		return svc.Run{}, err
	}
	if n.HostID != nil {
		if _, err := tx.Host(ctx, *n.HostID); svc.CodeOf(err) == svc.CodeNotFound {
			return svc.Run{}, svc.Invalid("host_id", "there is no host %s", *n.HostID)
		} else if err != nil {
			return svc.Run{}, err
		}
	}
	r := svc.Run{TaskID: n.TaskID, ProjectID: task.Project.ID, Provider: n.Provider,
		Status: svc.RunPending, Attempt: 1, PinnedHostID: n.HostID, Prompt: n.Prompt, Args: orEmpty(n.Args), Model: n.Model, Cwd: n.Cwd,
		Env: n.Env, RestartPolicy: n.RestartPolicy, MaxRestarts: svc.DefaultMaxRestarts, PendingSince: tx.Now, CreatedBy: by(ctx), CreatedAt: tx.Now,
		UpdatedAt: tx.Now, Version: 1, TaskManualMarks: task.ManualMarks}
	if r.Env == nil {
		r.Env = map[string]string{}
	}
	if r.RestartPolicy == "" {
		r.RestartPolicy = svc.RestartNever
	}
	assign(&r.MaxRestarts, n.MaxRestarts)
	if err := insertRun(ctx, tx, &r); err != nil {
		return r, err
	}
	payload := r.EventPayload()
	payload["provider"], payload["session_name"], payload["pinned_host_id"] = r.Provider, r.SessionName, r.PinnedHostID
	tx.Emit(svc.TopicRunCreated, payload)
	return r, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// insertRun draws ids until the session name is free.
func insertRun(ctx context.Context, tx *store.Tx, r *svc.Run) error {
	for {
		r.ID = svc.NewRunID()
		r.SessionName = svc.SessionName(r.ID)
		if err := tx.InsertRun(ctx, *r); !errors.Is(err, store.ErrSessionTaken) {
			return err
		}
	}
}

// checkProvider accepts the interface's ids and what any catalog has: the
// orchestrator's own, or one that a worker reported.
func (e *Engine) checkProvider(ctx context.Context, tx *store.Tx, id string) error {
	if slices.Contains(builtinProviders, id) || e.KnownProvider != nil && e.KnownProvider(id) {
		return nil
	}
	hosts, err := tx.AllHosts(ctx)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if _, has := h.Providers[id]; has {
			return nil
		}
	}
	return svc.Errorf(svc.CodeUnknownProvider, "provider: no catalog has %q", id).
		With("fields", map[string]any{"provider": "is in no catalog"})
}

// Run reads a run.
func (e *Engine) Run(ctx context.Context, id string) (svc.Run, error) {
	r, err := e.Store.Run(ctx, id)
	e.lookAt(&r)
	return r, err
}

// Runs is a page of runs, newest first.
func (e *Engine) Runs(ctx context.Context, f svc.RunFilter, page svc.Page) (svc.List[svc.Run], error) {
	list, err := e.Store.Runs(ctx, f, page)
	for i := range list.Items {
		e.lookAt(&list.Items[i])
	}
	return list, err
}

// StopRun is the manual signal: the run is stopped when this returns, and its
// session is told to end.
func (e *Engine) StopRun(ctx context.Context, id string) (svc.Run, error) {
	e.prepareEnd(ctx, id)
	replayed := true
	r, err := once(ctx, e.Store.Write, func(tx *store.Tx) (svc.Run, error) {
		replayed = false
		r, err := tx.LockRun(ctx, id)
		if err != nil {
			return r, err
		}
		wrote := writes(r)
		verdict, err := r.Stop(tx.Now)
		if err != nil {
			return r, err
		}
		if _, err := tx.TakeSignal(ctx, svc.Signal{RunID: r.ID, Attempt: r.Attempt, Kind: "stopped", Source: svc.FromUser, Via: "api", By: by(ctx), Timestamp: tx.Now}); err != nil {
			return r, err
		}
		if wrote {
			e.emitOutput(tx, &r)
		}
		payload := r.EventPayload()
		payload["source"] = svc.FromUser
		tx.Emit(verdict.Topic, payload)
		return r, tx.UpdateRun(ctx, &r)
	})
	if err != nil {
		return r, err
	}
	if !replayed { // the first answer is old news: what it says of the session may be over
		e.attemptOver(ctx, r, "stopped by a person")
	}
	return r, nil
}
