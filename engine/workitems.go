package engine

import (
	"context"

	"svc"
	"svc/store"
)

// CreateWorkItem creates an item at the end of its project's order.
func (e *Engine) CreateWorkItem(ctx context.Context, n svc.NewWorkItem) (svc.WorkItem, error) {
	if err := n.Validate(); err != nil {
		return svc.WorkItem{}, err
	}
	return once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.WorkItem, error) { return e.addWorkItem(ctx, tx, n) }, store.ProjectRow(n.ProjectID))
}

func (e *Engine) addWorkItem(ctx context.Context, tx *store.Tx, n svc.NewWorkItem) (svc.WorkItem, error) {
	project, err := lockOpenProject(ctx, tx, n.ProjectID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		err = svc.Invalid("project_id", "there is no project %s", n.ProjectID)
	}
	if err != nil {
		return svc.WorkItem{}, err
	}
	w := svc.WorkItem{ID: svc.NewID(), ProjectID: project.ID, ProjectSlug: project.Slug, ParentID: n.ParentID, Kind: n.Kind, Title: n.Title,
		Description: n.Description, AutoMarkDone: e.AutoMarkDone, Needs: []string{}, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	assign(&w.AutoMarkDone, n.AutoMarkDone)
	w.Status, w.StatusSource = svc.ItemTodo, svc.SourceByHand
	if n.Status != "" {
		w.MarkByHand(n.Status, nil)
	}
	if w.Path, w.Blocked, err = pathUnder(ctx, tx, w); err != nil {
		return w, err
	}
	if w.Position, err = endPosition(ctx, tx, w.ProjectID); err != nil {
		return w, err
	}
	if err := tx.InsertWorkItem(ctx, &w); err != nil {
		return w, err
	}
	tx.Emit(svc.TopicItemCreated, itemEvent(w))
	return w, nil
}

// pathUnder returns the item's path under its parent, which must be in the same project, and whether that parent is
// blocked.
func pathUnder(ctx context.Context, tx *store.Tx, w svc.WorkItem) (path string, blocked bool, err error) {
	if w.ParentID == nil {
		return w.ID, false, nil
	}
	parent, err := tx.WorkItem(ctx, *w.ParentID)
	switch {
	case svc.CodeOf(err) == svc.CodeNotFound:
		return "", false, svc.Invalid("parent_id", "there is no work item %s", *w.ParentID)
	case err != nil:
		return "", false, err
	case parent.ProjectID != w.ProjectID:
		return "", false, svc.Invalid("parent_id", "the parent is in another project")
	}
	return parent.Path + "/" + w.ID, parent.Blocked, nil
}

func lockOpenProject(ctx context.Context, tx *store.Tx, id string) (svc.Project, error) {
	p, err := tx.LockProject(ctx, id)
	if err == nil {
		err = p.CheckOpen()
	}
	return p, err
}

// WorkItem returns an item.
func (e *Engine) WorkItem(ctx context.Context, id string) (svc.WorkItem, error) {
	return e.Store.WorkItem(ctx, id)
}

// WorkItems returns a page of items, ordered by position.
func (e *Engine) WorkItems(ctx context.Context, f svc.WorkItemFilter, page svc.Page) (svc.List[svc.WorkItem], error) {
	return e.Store.WorkItems(ctx, f, page)
}

// lockItem locks the item's project, then reads the item. Changes within one project are serialised by that lock, so
// two concurrent moves cannot make a cycle.
func lockItem(ctx context.Context, tx *store.Tx, id string, match Match) (svc.WorkItem, error) {
	w, err := tx.WorkItem(ctx, id)
	if err != nil {
		return w, err
	}
	if _, err := lockOpenProject(ctx, tx, w.ProjectID); err != nil {
		return w, err
	}
	if w, err = tx.WorkItem(ctx, w.ID); err != nil {
		return w, err
	}
	return w, checkMatch(match, w.Version)
}

// UpdateWorkItem changes the fields that the patch names. Each kind of change is journaled once, under its own topic,
// for this item only.
func (e *Engine) UpdateWorkItem(ctx context.Context, id string, patch svc.WorkItemPatch, match Match) (svc.WorkItem, error) {
	var w svc.WorkItem
	err := e.Store.WriteRepeatable(ctx, func(tx *store.Tx) (err error) {
		if w, err = lockItem(ctx, tx, id, match); err != nil {
			return err
		}
		if err := patch.Validate(); err != nil {
			return err
		}
		before := w
		if err := reparent(ctx, tx, &w, patch.Parent); err != nil {
			return err
		}
		if err := reorder(ctx, tx, &w, patch); err != nil {
			return err
		}
		assign(&w.Title, patch.Title)
		assign(&w.Description, patch.Description)
		assign(&w.Kind, patch.Kind)
		assign(&w.AutoMarkDone, patch.AutoMarkDone)
		if patch.Status != nil {
			w.MarkByHand(*patch.Status, patch.Confidence)
		}
		topics := itemTopics(before, w)
		if len(topics) == 0 && before.ManualMarks == w.ManualMarks {
			return nil
		}
		if err := tx.UpdateWorkItem(ctx, &w); err != nil {
			return err
		}
		freed, err := itemMoved(ctx, tx, before, w)
		if err != nil {
			return err
		}
		if before.Path != w.Path {
			if w, err = tx.WorkItem(ctx, id); err != nil { // it may have become blocked or unblocked
				return err
			}
		}
		for _, t := range topics {
			payload := itemEvent(w)
			if t == svc.TopicItemReparented {
				payload["old_parent_id"], payload["old_path"] = before.ParentID, before.Path
			}
			if t == svc.TopicItemStatus {
				payload["old_status"] = before.Status
			}
			tx.Emit(t, payload)
		}
		freed.emit(tx)
		return nil
	}, store.ItemRow(id))
	if err == nil && (patch.Status != nil || patch.Parent != nil) {
		e.claims.up() // a need may be met
	}
	return w, err
}

// itemTopics returns the topics of the events for a change.
func itemTopics(a, b svc.WorkItem) []svc.Topic {
	var topics []svc.Topic
	if a.Path != b.Path {
		topics = append(topics, svc.TopicItemReparented)
	}
	if a.Status != b.Status || a.StatusSource != b.StatusSource || value(a.Confidence) != value(b.Confidence) {
		topics = append(topics, svc.TopicItemStatus)
	}
	if a.Title != b.Title || a.Description != b.Description || a.Kind != b.Kind || a.AutoMarkDone != b.AutoMarkDone || a.Position != b.Position {
		topics = append(topics, svc.TopicItemUpdated)
	}
	return topics
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// reparent moves an item, and updates the paths of everything below it.
func reparent(ctx context.Context, tx *store.Tx, w *svc.WorkItem, to *svc.ParentChange) error {
	if to == nil {
		return nil
	}
	moved := *w
	moved.ParentID = to.ID
	path, _, err := pathUnder(ctx, tx, moved)
	if err != nil || path == w.Path {
		return err
	}
	if isBelow(path, w.Path) {
		return svc.Invalid("parent_id", "an item cannot be moved into its own subtree")
	}
	if err := tx.MoveSubtree(ctx, w.ID, w.Path, path); err != nil {
		return err
	}
	w.ParentID, w.Path = to.ID, path
	return nil
}

// isBelow reports whether a path is below another one.
func isBelow(path, root string) bool {
	return len(path) > len(root) && path[:len(root)] == root && path[len(root)] == '/'
}

// DeleteWorkItem deletes an item, or with recursive its whole subtree. The rows are kept, so that runs stay
// auditable. Items that others need are deleted only with detached.
func (e *Engine) DeleteWorkItem(ctx context.Context, id string, recursive, detached bool, match Match) error {
	defer e.claims.up()
	return e.Store.WriteRepeatable(ctx, func(tx *store.Tx) error {
		w, err := lockItem(ctx, tx, id, match)
		if err != nil {
			return err
		}
		run, err := tx.ActiveRunBelow(ctx, w.ID)
		if err != nil {
			return err
		}
		if run != "" {
			return svc.Errorf(svc.CodeActiveRuns, "run %s on this item or below it is active; stop it first", run).With("run_id", run)
		}
		if !recursive {
			if has, err := tx.HasChildren(ctx, w.ID); err != nil {
				return err
			} else if has {
				return svc.Errorf(svc.CodeHasChildren, "the item has children; delete them first, or ask for recursive=true")
			}
		}
		gone, err := tx.DeleteSubtree(ctx, w.ID)
		if err != nil {
			return err
		}
		if err := detach(ctx, tx, w.ProjectID, gone, detached); err != nil {
			return err
		}
		for _, g := range gone {
			tx.Emit(svc.TopicItemDeleted, map[string]any{"task_id": g, "project_id": w.ProjectID})
		}
		return nil
	}, store.ItemRow(id))
}

func itemEvent(w svc.WorkItem) map[string]any {
	return map[string]any{"task_id": w.ID, "project_id": w.ProjectID, "number": w.Number, "parent_id": w.ParentID, "kind": w.Kind, "title": w.Title,
		"status": w.Status, "status_source": w.StatusSource, "confidence": w.Confidence, "path": w.Path, "position": w.Position}
}
