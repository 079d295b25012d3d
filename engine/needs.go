package engine

import (
	"context"
	"fmt"
	"slices"

	"svc"
	"svc/store"
)

// AddNeed makes an item need another item of its project. To add it again changes nothing.
func (e *Engine) AddNeed(ctx context.Context, id, other string) error {
	return e.changeNeed(ctx, id, func(tx *store.Tx, w svc.WorkItem) (bool, error) {
		needed, err := tx.WorkItem(ctx, other)
		if err != nil {
			return false, err
		}
		if needed.ProjectID != w.ProjectID {
			return false, svc.Invalid("other", "%q is in another project; items need items of their own project", needed.Title)
		}
		needs, err := tx.Needs(ctx, w.ProjectID)
		if err != nil {
			return false, err
		}
		for _, i := range []svc.WorkItem{w, needed} {
			needs.Paths[i.ID], needs.Title[i.ID] = i.Path, i.Title
		}
		if err := needs.Check(w.ID, needed.ID); err != nil {
			return false, err
		}
		return tx.AddNeed(ctx, w.ID, needed.ID)
	})
}

// RemoveNeed removes a need. If there is no such need, nothing changes.
func (e *Engine) RemoveNeed(ctx context.Context, id, other string) error {
	return e.changeNeed(ctx, id, func(tx *store.Tx, w svc.WorkItem) (bool, error) {
		needed, err := tx.WorkItem(ctx, other)
		if svc.CodeOf(err) == svc.CodeNotFound {
			return false, nil // the need was deleted with the item
		} else if err != nil {
			return false, err
		}
		return tx.RemoveNeed(ctx, w.ID, needed.ID)
	})
}

func (e *Engine) changeNeed(ctx context.Context, id string, change func(*store.Tx, svc.WorkItem) (bool, error)) error {
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		w, err := lockItem(ctx, tx, id, nil)
		if err != nil {
			return err
		}
		changed, err := change(tx, w)
		if err != nil || !changed {
			return err
		}
		if err := needsChanged(ctx, tx, w.ProjectID, w.ID); err != nil {
			return err
		}
		freed, err := reblock(ctx, tx, w.ProjectID, []string{w.ID})
		freed.emit(tx)
		return err
	})
	if err == nil {
		e.claims.up()
	}
	return err
}

// needsChanged journals the current needs of items.
func needsChanged(ctx context.Context, tx *store.Tx, projectID string, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	needs, err := tx.NeedsOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		tx.Emit(svc.TopicItemNeeds, map[string]any{"task_id": id, "project_id": projectID, "needs": orEmpty(needs[id])})
	}
	return nil
}

// unblocked are items that are no longer blocked. They are journaled after the change that unblocked them.
type unblocked struct {
	projectID string
	ids       []string
}

func (u unblocked) emit(tx *store.Tx) {
	for _, id := range u.ids {
		tx.Emit(svc.TopicItemUnblocked, map[string]any{"task_id": id, "project_id": u.projectID})
	}
}

// reblock updates which items are blocked, at and below the roots: items whose needs changed, or whose needed items
// changed state. It returns the unblocked items that are roots or have needs of their own.
func reblock(ctx context.Context, tx *store.Tx, projectID string, roots []string) (unblocked, error) {
	freed, err := tx.Reblock(ctx, projectID, roots)
	if err != nil || len(freed) == 0 {
		return unblocked{}, err
	}
	slices.Sort(freed)
	needs, err := tx.NeedsOf(ctx, freed)
	if err != nil {
		return unblocked{}, err
	}
	told := slices.DeleteFunc(freed, func(id string) bool { return !slices.Contains(roots, id) && len(needs[id]) == 0 })
	return unblocked{projectID, told}, nil
}

// itemMoved updates what is blocked after an item changed: whether it is done, and where it is in the tree.
func itemMoved(ctx context.Context, tx *store.Tx, before, after svc.WorkItem) (none unblocked, err error) {
	var roots []string
	if (before.Status == svc.ItemDone) != (after.Status == svc.ItemDone) {
		by, err := tx.NeededBy(ctx, []string{after.ID})
		if err != nil {
			return none, err
		}
		roots = by
	}
	if before.Path != after.Path {
		needs, err := tx.Needs(ctx, after.ProjectID)
		if err != nil || len(needs.Of) == 0 {
			return none, err
		}
		if err := needs.CheckMove(after.Path); err != nil {
			return none, err
		}
		roots = append(roots, after.ID)
	}
	if len(roots) == 0 {
		return none, nil
	}
	return reblock(ctx, tx, after.ProjectID, roots)
}

// detach removes the needs that point to items that are being deleted. Unless wanted is set, it refuses the deletion
// instead.
func detach(ctx context.Context, tx *store.Tx, projectID string, gone []string, wanted bool) error {
	by, err := tx.NeededBy(ctx, gone)
	if err != nil {
		return err
	}
	if len(by) > 0 && !wanted {
		text := "1 other item needs this one; remove that need first"
		if len(by) > 1 {
			text = fmt.Sprintf("%d other items need this one; remove those needs first", len(by))
		}
		return svc.Errorf(svc.CodeNeeded, "%s, or ask for detach=true", text).With("needed_by", by)
	}
	if err := tx.RemoveNeeds(ctx, gone); err != nil {
		return err
	}
	if err := needsChanged(ctx, tx, projectID, by...); err != nil {
		return err
	}
	freed, err := reblock(ctx, tx, projectID, by)
	freed.emit(tx)
	return err
}
