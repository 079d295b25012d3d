package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc"
)

// Needs returns which items of a project need which others.
func (r Reader) Needs(ctx context.Context, projectID string) (svc.Needs, error) {
	n := svc.Needs{Of: map[string][]string{}, Paths: map[string]string{}, Title: map[string]string{}}
	type need struct{ item, other, path, title, otherPath, otherTitle string }
	found, err := collect(ctx, r.q, func(row scanner) (x need, err error) {
		return x, row.Scan(&x.item, &x.other, &x.path, &x.title, &x.otherPath, &x.otherTitle)
	}, `SELECT n.item_id, n.other_id, a.path, a.title, o.path, o.title FROM needs n
		JOIN work_items a ON a.id = n.item_id JOIN work_items o ON o.id = n.other_id WHERE o.project_id = $1 ORDER BY o.position, o.id`, projectID)
	if err != nil {
		return n, fmt.Errorf("read the needs of a project: %w", err)
	}
	for _, x := range found {
		n.Of[x.item] = append(n.Of[x.item], x.other)
		n.Paths[x.item], n.Paths[x.other] = x.path, x.otherPath
		n.Title[x.item], n.Title[x.other] = x.title, x.otherTitle
	}
	return n, nil
}

// NeedsOf returns, by item, the ids of the items that it needs itself, in the
// order of their positions. The needs of its ancestors are not included.
func (r Reader) NeedsOf(ctx context.Context, ids []string) (map[string][]string, error) {
	var w where
	w.among(r.d, "n.item_id", ids)
	type need struct{ item, other string }
	found, err := collect(ctx, r.q, func(row scanner) (x need, err error) { return x, row.Scan(&x.item, &x.other) },
		"SELECT n.item_id, n.other_id FROM needs n JOIN work_items o ON o.id = n.other_id"+w.sql()+" ORDER BY o.position, o.id", w.args...)
	if err != nil {
		return nil, fmt.Errorf("read what items need: %w", err)
	}
	out := map[string][]string{}
	for _, x := range found {
		out[x.item] = append(out[x.item], x.other)
	}
	return out, nil
}

// withNeeds sets the field Needs of items.
func (r Reader) withNeeds(ctx context.Context, items []svc.WorkItem) error {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
		items[i].Needs = []string{}
	}
	if len(ids) == 0 {
		return nil
	}
	needs, err := r.NeedsOf(ctx, ids)
	for i := range items {
		if of := needs[items[i].ID]; of != nil {
			items[i].Needs = of
		}
	}
	return err
}

// UnmetNeed is an item that is not done and that another item needs.
type UnmetNeed struct{ ID, Ref string }

// UnmetNeeds returns the items that an item or one of its ancestors needs and
// that are not done, by position.
func (r Reader) UnmetNeeds(ctx context.Context, itemID string) ([]UnmetNeed, error) {
	var path string
	if err := r.q.QueryRowContext(ctx, "SELECT path FROM work_items WHERE id = $1", itemID).Scan(&path); err != nil {
		return nil, fmt.Errorf("read the path of %s: %w", itemID, err)
	}
	var w where
	w.among(r.d, "n.item_id", strings.Split(path, "/"))
	w.add("o.status <> 'done'")
	unmet, err := collect(ctx, r.q, func(row scanner) (u UnmetNeed, err error) {
		var slug string
		var number int64
		err = row.Scan(&u.ID, &slug, &number)
		u.Ref = svc.ItemRef(slug, number)
		return u, err
	}, `SELECT o.id, p.slug, o.number FROM needs n JOIN work_items o ON o.id = n.other_id
		JOIN projects p ON p.id = o.project_id`+w.sql()+" ORDER BY o.position, o.id", w.args...)
	if err != nil {
		return nil, fmt.Errorf("read unmet needs: %w", err)
	}
	return slices.Compact(unmet), nil // the item and an ancestor may need the same item
}

// NeededCommits returns, for each item that an item or one of its ancestors needs, the commit that was landed last, by
// position of the needed items. A workspace whose branch was only pushed does not count: a later merge of the branch
// may create another commit.
func (r Reader) NeededCommits(ctx context.Context, itemID string) ([]svc.NeededCommit, error) {
	var path string
	if err := r.q.QueryRowContext(ctx, "SELECT path FROM work_items WHERE id = $1", itemID).Scan(&path); err != nil {
		return nil, fmt.Errorf("read the path of %s: %w", itemID, err)
	}
	var w where
	w.among(r.d, "n.item_id", strings.Split(path, "/"))
	w.add("w.landed_at IS NOT NULL")
	w.add("w.landed_into <> w.branch")
	type landed struct {
		item string
		svc.NeededCommit
	}
	found, err := collect(ctx, r.q, func(row scanner) (l landed, err error) { return l, row.Scan(&l.item, &l.Commit, &l.Title) },
		`SELECT o.id, w.landed_commit, o.title FROM needs n JOIN work_items o ON o.id = n.other_id
		JOIN workspaces w ON w.task_id = o.id`+w.sql()+" ORDER BY o.position, o.id, w.landed_at DESC, w.id", w.args...)
	if err != nil {
		return nil, fmt.Errorf("read what was landed of needed items: %w", err)
	}
	var out []svc.NeededCommit
	for i, l := range found {
		if i == 0 || found[i-1].item != l.item {
			out = append(out, l.NeededCommit)
		}
	}
	return out, nil
}

// NeededBy returns the items that need one of the others and are not among the
// others themselves.
func (r Reader) NeededBy(ctx context.Context, others []string) ([]string, error) {
	var w where
	w.among(r.d, "other_id", others)
	w.outside(r.d, "item_id", others)
	return collect(ctx, r.q, scanText, "SELECT DISTINCT item_id FROM needs"+w.sql()+" ORDER BY item_id", w.args...)
}

// AddNeed records that an item needs another. It returns false if that was
// recorded already.
func (tx *Tx) AddNeed(ctx context.Context, item, other string) (bool, error) {
	n, err := tx.exec(ctx, "INSERT INTO needs (item_id, other_id) VALUES ($1, $2) ON CONFLICT (item_id, other_id) DO NOTHING", item, other)
	return n == 1, err
}

// RemoveNeed removes a need. It returns false if there was none.
func (tx *Tx) RemoveNeed(ctx context.Context, item, other string) (bool, error) {
	n, err := tx.exec(ctx, "DELETE FROM needs WHERE item_id = $1 AND other_id = $2", item, other)
	return n == 1, err
}

// RemoveNeeds removes all needs of the items, and all needs of other items for
// them.
func (tx *Tx) RemoveNeeds(ctx context.Context, ids []string) error {
	for _, column := range []string{"item_id", "other_id"} {
		var w where
		w.among(tx.d, column, ids)
		if _, err := tx.exec(ctx, "DELETE FROM needs"+w.sql(), w.args...); err != nil {
			return fmt.Errorf("forget needs: %w", err)
		}
	}
	return nil
}

// Reblock updates the field Blocked of the roots, of all items below them, and of
// the active runs of these items. An item is blocked if it or an ancestor needs an
// item that is not done. Reblock returns the ids of the items that are no longer
// blocked.
func (tx *Tx) Reblock(ctx context.Context, projectID string, roots []string) (freed []string, err error) {
	holding, err := collect(ctx, tx.q, scanText, `SELECT DISTINCT n.item_id FROM needs n JOIN work_items o ON o.id = n.other_id
		WHERE o.project_id = $1 AND o.status <> 'done'`, projectID)
	if err != nil {
		return nil, fmt.Errorf("find unmet needs: %w", err)
	}
	holds := map[string]bool{}
	for _, id := range holding {
		holds[id] = true
	}
	type item struct {
		id, path string
		blocked  bool
	}
	changes := map[bool]map[string]bool{true: {}, false: {}}
	for _, root := range roots {
		items, err := collect(ctx, tx.q, func(row scanner) (i item, err error) { return i, row.Scan(&i.id, &i.path, &i.blocked) },
			tx.d.below+" SELECT id, path, blocked FROM work_items WHERE id = $1 OR id IN (SELECT id FROM below)", root)
		if err != nil {
			return nil, fmt.Errorf("read the subtree of %s: %w", root, err)
		}
		for _, i := range items {
			blocked := false
			for above := range strings.SplitSeq(i.path, "/") {
				blocked = blocked || holds[above]
			}
			if blocked != i.blocked {
				changes[blocked][i.id] = true
			}
		}
	}
	for blocked, changed := range changes {
		if len(changed) == 0 {
			continue
		}
		ids := make([]string, 0, len(changed))
		for id := range changed {
			ids = append(ids, id)
		}
		if err := tx.setBlocked(ctx, ids, blocked); err != nil {
			return nil, err
		}
		if !blocked {
			freed = ids
		}
	}
	return freed, nil
}

func (tx *Tx) setBlocked(ctx context.Context, ids []string, blocked bool) error {
	var w where
	w.among(tx.d, "id", ids)
	if _, err := tx.exec(ctx, fmt.Sprintf("UPDATE work_items SET blocked = %t", blocked)+w.sql(), w.args...); err != nil {
		return fmt.Errorf("block items: %w", err)
	}
	var of where
	of.among(tx.d, "task_id", ids)
	of.add(activeRuns)
	runs, err := collect(ctx, tx.q, scanText, "SELECT id FROM runs"+of.sql()+" ORDER BY id", of.args...)
	if err != nil {
		return fmt.Errorf("find the runs of items: %w", err)
	}
	for _, id := range runs {
		r, err := tx.LockRun(ctx, id)
		if err != nil {
			return err
		}
		if r.Blocked == (blocked && !r.IgnoreNeeds) {
			continue
		}
		if r.Blocked = !r.Blocked; !r.Blocked {
			now := tx.Now
			r.UnblockedAt = &now
		}
		if err := tx.UpdateRun(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}
