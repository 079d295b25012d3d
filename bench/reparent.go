package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"svc"
	"svc/store"
)

const (
	subtreeSize  = 10_000
	subtreeTurns = 7
)

// reparent measures the move of a large subtree, in turns with a plain UPDATE of as many rows on the same database.
func reparent(ctx context.Context, r *report) (err error) {
	g, err := newOwnRig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	trunk, places, err := g.makeSubtree(ctx)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(g.dir, "svc.db")+"?"+url.Values{"_pragma": {"busy_timeout(5000)", "synchronous(FULL)", "cache_size(-32000)"}}.Encode())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var moves, updates []time.Duration
	for i := range subtreeTurns {
		began := time.Now()
		if _, err := g.engine.UpdateWorkItem(ctx, trunk.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &places[i%2]}}, nil); err != nil {
			return err
		}
		moves = append(moves, time.Since(began))
		began = time.Now()
		_, err := db.ExecContext(ctx, `UPDATE work_items SET path = 'x' || substr(path, 2), updated_at = updated_at + 1, version = version + 1
			WHERE project_id = $1`, trunk.ProjectID)
		if err != nil {
			return err
		}
		updates = append(updates, time.Since(began))
	}
	r.info("move of a subtree of 10,000 items", "%s ms", figure(ms(median(moves))))
	r.info("the same, relative to a plain UPDATE of as many rows", "%s×", figure(ms(median(moves))/ms(median(updates))))
	return nil
}

// makeSubtree makes a subtree with ten children at each branch, and two parents between which it can be moved.
func (g *rig) makeSubtree(ctx context.Context) (trunk svc.WorkItem, places [2]string, err error) {
	task, err := g.task(ctx)
	if err != nil {
		return trunk, places, err
	}
	for i := range places {
		w, err := g.engine.CreateWorkItem(ctx, svc.NewWorkItem{ProjectID: task.ProjectID, Kind: svc.KindEpic, Title: "A place"})
		if err != nil {
			return trunk, places, err
		}
		places[i] = w.ID
	}
	err = g.store.Write(ctx, func(tx *store.Tx) error {
		rank, err := tx.LastPosition(ctx, task.ProjectID)
		if err != nil {
			return err
		}
		planted := make([]svc.WorkItem, 0, subtreeSize+1)
		for i := range subtreeSize + 1 {
			rank = svc.RankBetween(rank, "")
			w := svc.WorkItem{ID: svc.NewID(), ProjectID: task.ProjectID, Kind: svc.KindTask, Title: "A leaf or a branch", Status: svc.ItemTodo,
				StatusSource: svc.SourceByHand, Position: rank, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
			w.Path = w.ID
			if i > 0 {
				parent := planted[(i-1)/10]
				w.ParentID, w.Path = &parent.ID, parent.Path+"/"+w.ID
			}
			if err := tx.InsertWorkItem(ctx, &w); err != nil {
				return err
			}
			planted = append(planted, w)
		}
		trunk = planted[0]
		return nil
	})
	return trunk, places, err
}
