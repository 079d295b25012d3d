package engine

import (
	"context"

	"svc"
	"svc/store"
)

// endPosition returns a rank after all items of the project.
func endPosition(ctx context.Context, tx *store.Tx, projectID string) (string, error) {
	last, err := tx.LastPosition(ctx, projectID)
	if err != nil {
		return "", err
	}
	return svc.RankBetween(last, ""), nil
}

// reorder moves an item directly before or after another item of its project. If the caller names both neighbours and
// they are in the opposite order, it is refused: the caller's view is out of date.
func reorder(ctx context.Context, tx *store.Tx, w *svc.WorkItem, patch svc.WorkItemPatch) error {
	if patch.Before != nil && patch.After != nil {
		if err := checkBetween(ctx, tx, *patch.After, *patch.Before); err != nil {
			return err
		}
	}
	field, target := "before", patch.Before
	if target == nil {
		field, target = "after", patch.After
	}
	if target == nil {
		return nil
	}
	if *target == w.ID {
		return svc.Invalid(field, "an item cannot be placed %s itself", field)
	}
	rank, err := rankBeside(ctx, tx, w, field, *target)
	if err != nil {
		return err
	}
	if len(rank) > svc.MaxRank {
		if err := spread(ctx, tx, w, rank); err != nil {
			return err
		}
		fresh, err := tx.WorkItem(ctx, w.ID)
		if err != nil {
			return err
		}
		w.Position, w.Version = fresh.Position, fresh.Version
		if rank, err = rankBeside(ctx, tx, w, field, *target); err != nil {
			return err
		}
	}
	w.Position = rank
	return nil
}

// spread makes room around a rank and journals every item whose rank changed, except w, whose move is journaled by
// the caller. Clients that show the project receive the new order as item updates, as for any move.
func spread(ctx context.Context, tx *store.Tx, w *svc.WorkItem, around string) error {
	changed, err := tx.SpreadPositions(ctx, w.ProjectID, around)
	if err != nil {
		return err
	}
	for _, id := range changed {
		if id == w.ID {
			continue
		}
		item, err := tx.WorkItem(ctx, id)
		if err != nil {
			return err
		}
		tx.Emit(svc.TopicItemUpdated, itemEvent(item))
	}
	return nil
}

// rankBeside returns a rank between the target and its neighbour on the requested side. An item that is already there
// keeps its rank.
func rankBeside(ctx context.Context, tx *store.Tx, w *svc.WorkItem, field, target string) (string, error) {
	other, err := tx.WorkItem(ctx, target)
	switch {
	case svc.CodeOf(err) == svc.CodeNotFound:
		return "", svc.Invalid(field, "there is no work item %s", target)
	case err != nil:
		return "", err
	case other.ProjectID != w.ProjectID:
		return "", svc.Invalid(field, "that item is in another project")
	}
	if field == "before" {
		low, err := tx.PositionBefore(ctx, w.ProjectID, other.Position)
		if err != nil || low == w.Position {
			return w.Position, err
		}
		return svc.RankBetween(low, other.Position), nil
	}
	high, err := tx.PositionAfter(ctx, w.ProjectID, other.Position)
	if err != nil || high == w.Position {
		return w.Position, err
	}
	return svc.RankBetween(other.Position, high), nil
}

func checkBetween(ctx context.Context, tx *store.Tx, after, before string) error {
	low, err := tx.WorkItem(ctx, after)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Invalid("after", "there is no work item %s", after)
	} else if err != nil {
		return err
	}
	high, err := tx.WorkItem(ctx, before)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Invalid("before", "there is no work item %s", before)
	} else if err != nil {
		return err
	}
	if low.ProjectID != high.ProjectID || low.Position >= high.Position {
		return svc.Invalid("after", "names an item that is after the one that before names")
	}
	return nil
}
