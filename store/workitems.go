package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc"
)

const itemColumns = `id, project_id, parent_id, kind, title, description, status, status_source, confidence, path, position,
	auto_mark_done, manual_marks, blocked, created_at, updated_at, version, number`

// itemRead are the columns of an item, the slug of its project and its newest run. The run is a single column, so
// that it costs one index lookup.
const itemRead = itemColumns + `, (SELECT slug FROM projects WHERE projects.id = work_items.project_id),
	(SELECT id || ' ' || status || CASE WHEN needs_input THEN ' needs_input' ELSE '' END FROM runs
		WHERE task_id = work_items.id ORDER BY created_at DESC, id DESC LIMIT 1)`

func scanItem(row scanner) (svc.WorkItem, error) {
	var w svc.WorkItem
	var newest *string
	err := row.Scan(&w.ID, &w.ProjectID, &w.ParentID, &w.Kind, &w.Title, &w.Description, &w.Status, &w.StatusSource, &w.Confidence,
		&w.Path, &w.Position, &w.AutoMarkDone, &w.ManualMarks, &w.Blocked, &w.CreatedAt, &w.UpdatedAt, &w.Version, &w.Number, &w.ProjectSlug, &newest)
	if newest != nil {
		words := strings.Fields(*newest)
		w.NewestRun = &svc.RunBrief{ID: words[0], Status: svc.RunStatus(words[1]), NeedsInput: len(words) > 2}
	}
	w.Needs = []string{} // set by withNeeds
	return w, err
}

// WorkItem reads an item that is not deleted, by its id or its short name.
func (r Reader) WorkItem(ctx context.Context, idOrRef string) (svc.WorkItem, error) {
	w, err := r.workItem(ctx, idOrRef)
	if err != nil {
		return w, err
	}
	items := []svc.WorkItem{w}
	err = r.withNeeds(ctx, items)
	return items[0], err
}

func (r Reader) workItem(ctx context.Context, idOrRef string) (svc.WorkItem, error) {
	const read = "SELECT " + itemRead + " FROM work_items WHERE deleted_at IS NULL AND "
	if svc.IsID(idOrRef) {
		return readOne(ctx, r.q, scanItem, "work item", idOrRef, read+"id = $1", idOrRef)
	}
	slug, number, ok := svc.ParseItemRef(idOrRef)
	if !ok {
		return svc.WorkItem{}, svc.NotFound("work item", idOrRef)
	}
	return readOne(ctx, r.q, scanItem, "work item", idOrRef,
		read+"project_id = (SELECT id FROM projects WHERE slug = $1) AND number = $2", slug, number)
}

// InsertWorkItem adds an item and sets its number: the highest number of the project's items, including deleted ones,
// plus one. The unit must have locked the project.
func (tx *Tx) InsertWorkItem(ctx context.Context, w *svc.WorkItem) error {
	tx.wrote = true
	err := tx.q.QueryRowContext(ctx, "INSERT INTO work_items ("+itemColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,
		(SELECT coalesce(max(number), 0) + 1 FROM work_items WHERE project_id = $2)) RETURNING number`,
		w.ID, w.ProjectID, w.ParentID, w.Kind, w.Title, w.Description, w.Status, w.StatusSource, w.Confidence, w.Path, w.Position,
		w.AutoMarkDone, w.ManualMarks, w.Blocked, w.CreatedAt, w.UpdatedAt, w.Version).Scan(&w.Number)
	if err != nil {
		return fmt.Errorf("insert work item: %w", err)
	}
	return nil
}

// UpdateWorkItem writes an item that was read in this unit. It does not change
// the paths of the items below it: see MoveSubtree.
func (tx *Tx) UpdateWorkItem(ctx context.Context, w *svc.WorkItem) error {
	w.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE work_items SET parent_id = $1, kind = $2, title = $3, description = $4, status = $5, status_source = $6,
		confidence = $7, path = $8, position = $9, auto_mark_done = $10, manual_marks = $11, updated_at = $12, version = version + 1
		WHERE id = $13 AND version = $14 AND deleted_at IS NULL`,
		w.ParentID, w.Kind, w.Title, w.Description, w.Status, w.StatusSource, w.Confidence, w.Path, w.Position, w.AutoMarkDone,
		w.ManualMarks, w.UpdatedAt, w.ID, w.Version)
	return changed("work item", w.ID, &w.Version, n, err)
}

// MoveSubtree rewrites the paths of all items below an item whose own path
// changes, in one statement for a subtree of any size. The paths of deleted items
// are rewritten too, so that they stay correct for the audit.
func (tx *Tx) MoveSubtree(ctx context.Context, id, from, to string) error {
	_, err := tx.exec(ctx, tx.d.below+` UPDATE work_items SET path = $2 || substr(path, $3), updated_at = $4, version = version + 1
		WHERE id IN (SELECT id FROM below)`, id, to, len(from)+1, tx.Now)
	if err != nil {
		return fmt.Errorf("rewrite the paths below %s: %w", id, err)
	}
	return nil
}

// HasChildren reports whether an item has children that are not deleted.
func (r Reader) HasChildren(ctx context.Context, id string) (bool, error) {
	var n int
	err := r.q.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM work_items WHERE parent_id = $1 AND deleted_at IS NULL LIMIT 1) AS c", id).Scan(&n)
	return n > 0, err
}

// ActiveRunBelow returns the id of an active run of the item or of an item below
// it; empty: there is none.
func (r Reader) ActiveRunBelow(ctx context.Context, id string) (string, error) {
	ids, err := collect(ctx, r.q, func(row scanner) (s string, err error) { return s, row.Scan(&s) },
		r.d.below+` SELECT id FROM runs WHERE `+activeRuns+`
		AND (task_id = $1 OR task_id IN (SELECT id FROM below)) LIMIT 1`, id)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// DeleteSubtree marks an item and everything below it as deleted. It returns the
// ids of the deleted items, the item itself first, the others by position.
func (tx *Tx) DeleteSubtree(ctx context.Context, id string) ([]string, error) {
	ids, err := collect(ctx, tx.q, func(row scanner) (s string, err error) { return s, row.Scan(&s) },
		tx.d.below+` SELECT id FROM work_items WHERE deleted_at IS NULL AND id IN (SELECT id FROM below) ORDER BY position`, id)
	if err != nil {
		return nil, fmt.Errorf("read the subtree of %s: %w", id, err)
	}
	_, err = tx.exec(ctx, tx.d.below+` UPDATE work_items SET deleted_at = $2, version = version + 1
		WHERE deleted_at IS NULL AND (id = $1 OR id IN (SELECT id FROM below))`, id, tx.Now)
	if err != nil {
		return nil, fmt.Errorf("delete the subtree of %s: %w", id, err)
	}
	return append([]string{id}, ids...), nil
}

// The ranks next to a place. The searches name no single project but an order that only one index has, and the result is
// empty if what they find is of another project. For a plain max of a project's positions PostgreSQL estimates the same
// cost for the index of numbers as long as it takes the table for small, and then reads all items of the project: of ten
// thousand items that are created within minutes each took 10 ms.
const (
	lastPosition   = `SELECT max(position) FROM (SELECT project_id, position FROM work_items WHERE project_id <= $1` + backward
	positionBefore = `SELECT max(position) FROM (SELECT project_id, position FROM work_items WHERE (project_id, position) < ($1, $2)` + backward
	positionAfter  = `SELECT max(position) FROM (SELECT project_id, position FROM work_items WHERE (project_id, position) > ($1, $2)
		ORDER BY project_id, position LIMIT 1) AS found WHERE project_id = $1`
	backward = ` ORDER BY project_id DESC, position DESC LIMIT 1) AS found WHERE project_id = $1`
)

// LastPosition returns the highest rank in a project, including deleted items;
// empty: the project has no items.
func (r Reader) LastPosition(ctx context.Context, projectID string) (string, error) {
	return r.position(ctx, lastPosition, projectID)
}

// PositionBefore returns the rank directly before another one; empty: there is none.
func (r Reader) PositionBefore(ctx context.Context, projectID, position string) (string, error) {
	return r.position(ctx, positionBefore, projectID, position)
}

// PositionAfter returns the rank directly after another one; empty: there is none.
func (r Reader) PositionAfter(ctx context.Context, projectID, position string) (string, error) {
	return r.position(ctx, positionAfter, projectID, position)
}

func (r Reader) position(ctx context.Context, query string, args ...any) (string, error) {
	var p *string
	if err := r.q.QueryRowContext(ctx, query, args...).Scan(&p); err != nil {
		return "", fmt.Errorf("read a position: %w", err)
	}
	if p == nil {
		return "", nil
	}
	return *p, nil
}

// spreadAround is how many items on each side of a place get new ranks in the
// first try. If their ranks are still long, the next try takes twice as many.
const spreadAround = 8

// shortRank is the length up to which new ranks leave room for many moves before
// the next spread.
const shortRank = svc.MaxRank / 4

type ranked struct {
	id, position string
	deleted      bool
}

// SpreadPositions gives short ranks to the items around a rank of a project, and
// keeps their order. It returns the ids of the items that changed and are not
// deleted. It changes as few items as possible, because each change must be sent
// to every client that shows the item.
func (tx *Tx) SpreadPositions(ctx context.Context, projectID, around string) ([]string, error) {
	for n := spreadAround; ; n *= 2 {
		low, err := tx.rankedItems(ctx, "position < $2 ORDER BY position DESC", projectID, around, n+1)
		if err != nil {
			return nil, err
		}
		high, err := tx.rankedItems(ctx, "position >= $2 ORDER BY position", projectID, around, n+1)
		if err != nil {
			return nil, err
		}
		slices.Reverse(low)
		from, to := "", "" // the ranks of the neighbours, which do not change
		if len(low) > n {
			from, low = low[0].position, low[1:]
		}
		if len(high) > n {
			to, high = high[n].position, high[:n]
		}
		items := append(low, high...)
		ranks := svc.RanksBetween(from, to, len(items))
		long := slices.ContainsFunc(ranks, func(r string) bool { return len(r) > shortRank })
		if !long || from == "" && to == "" {
			return tx.rerank(ctx, items, ranks)
		}
	}
}

func (tx *Tx) rankedItems(ctx context.Context, where, projectID, around string, limit int) ([]ranked, error) {
	items, err := collect(ctx, tx.q, func(row scanner) (r ranked, err error) { return r, row.Scan(&r.id, &r.position, &r.deleted) },
		"SELECT id, position, deleted_at IS NOT NULL FROM work_items WHERE project_id = $1 AND "+where+" LIMIT CAST($3 AS BIGINT)", projectID, around, limit)
	if err != nil {
		return nil, fmt.Errorf("read positions: %w", err)
	}
	return items, nil
}

func (tx *Tx) rerank(ctx context.Context, items []ranked, ranks []string) (changed []string, err error) {
	// Ranks are unique: the first step moves all items to temporary ranks, with a character that no rank has.
	for _, step := range []struct{ sql, aside string }{
		{"UPDATE work_items SET position = $1 WHERE id = $2", "~"},
		{"UPDATE work_items SET position = $1, version = version + 1 WHERE id = $2", ""},
	} {
		for i, item := range items {
			if ranks[i] == item.position {
				continue
			}
			if _, err := tx.exec(ctx, step.sql, step.aside+ranks[i], item.id); err != nil {
				return nil, fmt.Errorf("spread positions: %w", err)
			}
		}
	}
	for i, item := range items {
		if ranks[i] != item.position && !item.deleted {
			changed = append(changed, item.id)
		}
	}
	return changed, nil
}
