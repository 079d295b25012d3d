package engine

import (
	"context"
	"errors"
	"slices"

	"svc"
	"svc/store"
)

// builtinProviders are accepted even if no catalog has them. A run for one that no host has fails to spawn, with an
// error that names it.
var builtinProviders = []string{"provider_a", "provider_b", "provider_c", "provider_d"}

// CreateRun admits a run. It never waits for a host: placement comes later.
func (e *Engine) CreateRun(ctx context.Context, n svc.NewRun) (svc.Run, error) {
	if err := complete(ctx, e.Store.Reader, &n); err != nil {
		return svc.Run{}, err
	}
	if n.Task != nil {
		if err := n.Task.Validate(); err != nil {
			return svc.Run{}, err
		}
	}
	row := store.TargetRow(n.TaskID)
	if n.Task != nil {
		row = store.ProjectRow(n.Task.ProjectID)
	}
	return once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Run, error) { return e.admit(ctx, tx, n) }, row)
}

// admit creates a run. If the request contains a new task, it creates that first, in the same unit of work: a refused
// run leaves no task behind.
func (e *Engine) admit(ctx context.Context, tx *store.Tx, n svc.NewRun) (svc.Run, error) {
	if n.Task != nil {
		w, err := e.addWorkItem(ctx, tx, *n.Task)
		if err != nil {
			return svc.Run{}, err
		}
		n.TaskID = w.ID
	}
	task, err := tx.LockRunTarget(ctx, n.TaskID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Run{}, svc.Invalid("task_id", "there is no work item %s", n.TaskID)
	} else if err != nil {
		return svc.Run{}, err
	}
	if !task.Kind.Runnable() {
		return svc.Run{}, svc.Errorf(svc.CodeInvalidTaskKind, "task_id: %s cannot be run, because its kind is %s; only a task or a subtask can", n.TaskID, task.Kind).
			With("fields", map[string]any{"task_id": "must be a task or a subtask"})
	}
	if err := task.Project.CheckOpen(); err != nil {
		return svc.Run{}, err
	}
	if n.WorkspaceID != nil {
		if err := e.pinToWorkspace(ctx, tx, &n, task.Project.ID); err != nil {
			return svc.Run{}, err
		}
	}
	if task.Project.Isolates() || n.WorkspaceID != nil {
		rel, ok := task.Project.CwdInCopy(n.Cwd)
		if !ok {
			return svc.Run{}, svc.Invalid("cwd", "is %q, but runs of this project work in a copy of its repository: name a folder relative to it", n.Cwd)
		}
		n.Cwd = rel
	}
	if n.Continues == nil {
		task.Project.Defaults().Fill(&n)
		e.RunDefaults.Fill(&n)
	}
	if n.Provider == "" {
		return svc.Run{}, svc.Invalid("provider", "is missing, and neither the project nor [runs] provider names one")
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
		Env: n.Env, WorkspaceID: n.WorkspaceID, ContinuesRunID: n.Continues, RestartPolicy: n.RestartPolicy, MaxRestarts: svc.DefaultMaxRestarts, PendingSince: tx.Now, CreatedBy: by(ctx), CreatedAt: tx.Now,
		UpdatedAt: tx.Now, Version: 1, TaskManualMarks: task.ManualMarks,
		Wait: n.Wait, Priority: n.Priority, NotBefore: n.NotBefore, HostLabels: n.HostLabels, IgnoreNeeds: n.IgnoreNeeds, Blocked: task.Blocked && !n.IgnoreNeeds}
	if r.HostLabels == nil {
		r.HostLabels = map[string]string{}
	}
	if r.Env == nil {
		r.Env = map[string]string{}
	}
	if r.RestartPolicy == "" {
		r.RestartPolicy = svc.RestartNever
	}
	assign(&r.MaxRestarts, n.MaxRestarts)
	if err := e.continueRun(ctx, tx, &r, n.Fresh); err != nil {
		return svc.Run{}, err
	}
	if err := insertRun(ctx, tx, &r); err != nil {
		return r, err
	}
	tx.After(func() {
		e.admitted.Store(true)
		e.claims.up()
	})
	payload := r.EventPayload()
	payload["provider"], payload["session_name"], payload["pinned_host_id"] = r.Provider, r.SessionName, r.PinnedHostID
	r.TaskTitle, r.TaskNumber, r.ProjectSlug = task.Title, task.Number, task.Project.Slug
	payload["task_title"], payload["task_number"], payload["project_slug"] = r.TaskTitle, r.TaskNumber, r.ProjectSlug
	payload["priority"], payload["wait"] = r.Priority, r.Wait
	if r.IgnoreNeeds {
		payload["ignore_needs"] = true
	}
	if r.WorkspaceID != nil {
		payload["workspace_id"] = *r.WorkspaceID
	}
	if r.ContinuesRunID != nil {
		payload["continues_run_id"] = *r.ContinuesRunID
	}
	tx.Emit(svc.TopicRunCreated, payload)
	return r, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// insertRun generates ids until the session name is free.
func insertRun(ctx context.Context, tx *store.Tx, r *svc.Run) error {
	for {
		r.ID = svc.NewRunID()
		r.SessionName = svc.SessionName(r.ID)
		if err := tx.InsertRun(ctx, *r); !errors.Is(err, store.ErrSessionTaken) {
			return err
		}
	}
}

// checkProvider accepts the built-in provider ids and those of any catalog: the orchestrator's own, or one that a
// worker reported.
func (e *Engine) checkProvider(ctx context.Context, tx *store.Tx, id string) error {
	if slices.Contains(builtinProviders, id) || e.KnownProvider != nil && e.KnownProvider(id) {
		return nil
	}
	hosts, err := tx.AllHosts(ctx)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if r, has := h.Providers[id]; has && !r.Preset {
			return nil
		}
	}
	return svc.Errorf(svc.CodeUnknownProvider, "provider: no catalog has %q", id).
		With("fields", map[string]any{"provider": "is in no catalog"})
}

// Run returns a run.
func (e *Engine) Run(ctx context.Context, id string) (svc.Run, error) {
	r, err := e.Store.Run(ctx, id)
	e.lookAt(&r)
	return r, err
}

// Runs returns a page of runs, newest first.
func (e *Engine) Runs(ctx context.Context, f svc.RunFilter, page svc.Page) (svc.List[svc.RunSummary], error) {
	list, err := e.Store.Runs(ctx, f, page)
	return svc.List[svc.RunSummary]{Items: e.summaries(list.Items), NextCursor: list.NextCursor}, err
}

// summaries returns runs in the form that lists show.
func (e *Engine) summaries(runs []svc.Run) []svc.RunSummary {
	out := make([]svc.RunSummary, len(runs))
	for i, r := range runs {
		e.lookAt(&r)
		out[i] = r.Summary()
	}
	return out
}

// CountRuns counts the runs that pass the filter, by status.
func (e *Engine) CountRuns(ctx context.Context, f svc.RunFilter) (svc.RunCounts, error) {
	return e.Store.RunCounts(ctx, f)
}

// UpdateRun changes the waiting conditions of a pending run.
func (e *Engine) UpdateRun(ctx context.Context, id string, patch svc.RunPatch, match Match) (svc.Run, error) {
	var r svc.Run
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, id); err != nil {
			return err
		}
		before := r
		if err := firstErr(patch.Validate, func() error { return checkMatch(match, r.Version) }, func() error { return patch.Apply(&r) }); err != nil {
			return err
		}
		if r.Priority == before.Priority && r.Wait == before.Wait && value(r.NotBefore) == value(before.NotBefore) {
			return tx.NameRun(ctx, &r)
		}
		if value(before.NotBefore) > tx.Now && value(r.NotBefore) <= tx.Now {
			r.UnblockedAt = &tx.Now // until now it waited for not_before, not for a host
		}
		if err := tx.UpdateRun(ctx, &r); err != nil {
			return err
		}
		payload := r.EventPayload()
		payload["priority"], payload["wait"], payload["not_before"] = r.Priority, r.Wait, r.NotBefore
		tx.Emit(svc.TopicRunUpdated, payload)
		return tx.NameRun(ctx, &r)
	})
	if err == nil {
		e.runs.put(r)
		e.claims.up()
	}
	return r, err
}

// Rerun creates a new run with the fields of another one, after change has modified them.
func (e *Engine) Rerun(ctx context.Context, id string, change func(*svc.NewRun) error) (svc.Run, error) {
	r, err := e.Store.Run(ctx, id)
	if err != nil {
		return r, err
	}
	n := svc.NewRun{TaskID: r.TaskID, Provider: r.Provider, HostID: r.PinnedHostID, Prompt: r.Prompt, Args: r.Args, Model: r.Model, Cwd: r.Cwd,
		Env: r.Env, RestartPolicy: r.RestartPolicy, MaxRestarts: &r.MaxRestarts, Wait: r.Wait, Priority: r.Priority, NotBefore: r.NotBefore,
		HostLabels: r.HostLabels, IgnoreNeeds: r.IgnoreNeeds}
	if err := change(&n); err != nil {
		return svc.Run{}, err
	}
	return e.CreateRun(ctx, n)
}

// StopRun applies a person's stop. When it returns, the run is stopped, and its session has been ordered to end.
func (e *Engine) StopRun(ctx context.Context, id string) (svc.Run, error) {
	e.prepareEnd(ctx, id)
	replayed := true
	r, err := once(ctx, e.Store.Write, func(tx *store.Tx) (svc.Run, error) {
		replayed = false
		return e.stop(ctx, tx, id)
	}, store.RunRow(id))
	if err != nil {
		return r, err
	}
	if !replayed { // for a replayed request, the state of the session may have changed since
		e.attemptOver(ctx, r, "stopped by a person")
	}
	return r, nil
}

// stop applies a person's stop in a unit of work. If it is refused, nothing is changed.
func (e *Engine) stop(ctx context.Context, tx *store.Tx, id string) (svc.Run, error) {
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
	if verdict.Topic == "" {
		return r, nil // the run was over already; its session is ordered to end once more
	}
	if wrote {
		e.emitOutput(tx, &r)
	}
	payload := r.EventPayload()
	payload["source"] = svc.FromUser
	tx.Emit(verdict.Topic, payload)
	if err := tx.UpdateRun(ctx, &r); err != nil {
		return r, err
	}
	return r, tx.NameRun(ctx, &r)
}
