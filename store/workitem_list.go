package store

import (
	"context"
	"fmt"

	"svc"
)

// smallSubtree is the size up to which a subtree is read whole and sorted. For a
// larger subtree, the index of the project's order is read and filtered.
const smallSubtree = 1000

// WorkItems returns a page of items, by position. All its statements read one
// state.
func (r Reader) WorkItems(ctx context.Context, f svc.WorkItemFilter, page svc.Page) (svc.List[svc.WorkItem], error) {
	return oneState(ctx, r, func(r Reader) (svc.List[svc.WorkItem], error) {
		list, err := r.workItems(ctx, f, page)
		if err != nil {
			return list, err
		}
		return list, r.withNeeds(ctx, list.Items)
	})
}

func (r Reader) workItems(ctx context.Context, f svc.WorkItemFilter, page svc.Page) (svc.List[svc.WorkItem], error) {
	empty := svc.List[svc.WorkItem]{Items: []svc.WorkItem{}}
	var w where
	w.add("deleted_at IS NULL")
	order := "position, id"
	if f.Under != "" {
		small, found, err := r.addUnder(ctx, &w, &f)
		if err != nil || !found {
			return empty, err
		}
		if small {
			order = "position || '', id" // an expression, so that the few rows are sorted: the index of the order has all items
		}
	}
	project := "project_id = ?"
	if f.Parent != nil && f.Parent.ID == nil {
		w.add("parent_id IS NULL")
	} else if f.Parent != nil {
		w.add("parent_id = ?", *f.Parent.ID)
		project = "project_id || '' = ?" // prevents the use of the project's index: that of the parent has fewer items
	}
	if f.ProjectID != "" {
		w.add(project, f.ProjectID)
	}
	if len(f.Statuses) > 0 {
		addAmong(&w, "status", f.Statuses)
	}
	if len(f.Kinds) > 0 {
		addAmong(&w, "kind", f.Kinds)
	}
	if page.Cursor != "" {
		var position, id string
		if err := readCursor("work_items", page.Cursor, &position, &id); err != nil {
			return empty, err
		}
		w.add("(position, id) > (?, ?)", position, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanItem, fmt.Sprintf("SELECT %s FROM work_items%s ORDER BY %s LIMIT %d",
		itemRead, w.sql(), order, page.Limit+1), w.args...)
	if err != nil {
		return empty, fmt.Errorf("list work items: %w", err)
	}
	return paged(found, cut, page.Limit, func(w svc.WorkItem) string { return cursor("work_items", w.Position, w.ID) }), nil
}

// addUnder limits a list to a subtree. On the first indexedLevels levels it uses
// the index of the level. Deeper, it lists the ids of a small subtree, and
// filters the project's order by path for a large one.
func (r Reader) addUnder(ctx context.Context, w *where, f *svc.WorkItemFilter) (small, found bool, err error) {
	root, err := r.WorkItem(ctx, f.Under)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return false, false, nil
	} else if err != nil {
		return false, false, err
	}
	if f.ProjectID != "" && f.ProjectID != root.ProjectID {
		return false, false, nil
	}
	if level := (len(root.Path) + 1) / idWidth; level <= indexedLevels {
		f.ProjectID = "" // implied by the item; with it the database could use another index
		w.add(fmt.Sprintf("substr(path, %d, 36) = ? AND length(path) > %d", (level-1)*idWidth+1, level*idWidth-1), root.ID)
		return false, true, nil
	}
	few, err := r.fewBelow(ctx, f.Under)
	if err != nil {
		return false, false, err
	}
	if few != nil {
		w.among(r.d, "id", few)
		return true, true, nil
	}
	f.ProjectID = root.ProjectID                                 // to use the index of the project's order
	w.add("path > ? AND path < ?", root.Path+"/", root.Path+"0") // "0" follows "/"
	return false, true, nil
}

const (
	idWidth       = 37 // an id and the slash after it, in a path
	indexedLevels = 3  // how many levels of the tree have an index of all items below them, in order
)

// fewBelow returns the ids of everything below an item, including deleted rows;
// nil if there are more than smallSubtree. It reads hardly more rows than that.
func (r Reader) fewBelow(ctx context.Context, id string) ([]string, error) {
	var children int // quickly counted, and often sufficient to decide
	err := r.q.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM work_items WHERE parent_id = $1 LIMIT CAST($2 AS BIGINT)) AS c", id, smallSubtree+1).Scan(&children)
	if err != nil {
		return nil, fmt.Errorf("count the children of %s: %w", id, err)
	}
	if children > smallSubtree {
		return nil, nil
	}
	ids, err := collect(ctx, r.q, func(row scanner) (s string, err error) { return s, row.Scan(&s) }, r.d.fewBelow, id, smallSubtree+1)
	if err != nil {
		return nil, fmt.Errorf("read the subtree of %s: %w", id, err)
	}
	if len(ids) > smallSubtree {
		return nil, nil
	}
	return ids, nil
}

// OpenWork returns every project that is not archived, by name, and all their
// items, by position.
func (r Reader) OpenWork(ctx context.Context) ([]svc.Project, []svc.WorkItem, error) {
	projects, err := collect(ctx, r.q, scanProject,
		"SELECT "+projectColumns+" FROM projects WHERE status = 'active' ORDER BY name, id")
	if err != nil {
		return nil, nil, fmt.Errorf("read open projects: %w", err)
	}
	items, err := collect(ctx, r.q, scanItem, "SELECT "+itemRead+` FROM work_items WHERE deleted_at IS NULL
		AND project_id IN (SELECT id FROM projects WHERE status = 'active') ORDER BY position, id`)
	if err != nil {
		return nil, nil, fmt.Errorf("read open work items: %w", err)
	}
	return projects, items, r.withNeeds(ctx, items)
}
