package main

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"svc"
	"svc/store"
)

// library is a database with many records. Both sizes have the same distribution: all shares are equal, only the
// numbers differ.
type library struct {
	store   *store.Store
	size    int
	cursors map[string]string // cursors of the deep pages, by query

	big, other   string // projects with 60 % and with 4 % of the items
	bigTree      string // an item with 30 % of all items below it, spread over the project's order
	lateTree     string // an item with 10 % below it, all at the end of the project's order
	smallTree    string // an item with 60 items below it
	wideParent   string // an item with 5 % of all items as children
	busyTask     string // a task with 1 % of the runs
	quietTask    string // a task with few runs
	busyHost     string // a host with 40 % of the runs
	quietHost    string // a host with 2 % of the runs
	tasks, hosts []string
	projects     []string
	rank         string // the rank of the newest item
}

// fill writes size items and size runs, in units of a hundred.
func (l *library) fill(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same data every time
	if err := l.write(ctx, 1, func(tx *store.Tx, _ int) error { return l.writeParents(ctx, tx) }); err != nil {
		return err
	}
	if err := l.write(ctx, l.size, func(tx *store.Tx, i int) error { return l.item(ctx, tx, i, random) }); err != nil {
		return err
	}
	return l.write(ctx, l.size, func(tx *store.Tx, i int) error { return l.run(ctx, tx, i, random) })
}

func (l *library) write(ctx context.Context, n int, one func(*store.Tx, int) error) error {
	const unit = 100 // a large one is slow on SQLite
	for at := 0; at < n; at += unit {
		err := l.store.Write(ctx, func(tx *store.Tx) error {
			for i := at; i < min(at+unit, n); i++ {
				if err := one(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeParents writes the projects, the hosts and the items that are parents of others.
func (l *library) writeParents(ctx context.Context, tx *store.Tx) error {
	for i := range 11 {
		id := svc.NewID()
		p := svc.Project{ID: id, Name: "Project " + id[len(id)-6:], Slug: id, Status: svc.ProjectActive, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
		if err := tx.InsertProject(ctx, p); err != nil {
			return err
		}
		l.projects = append(l.projects, id)
		if i < 10 {
			h := svc.Host{ID: svc.NewID(), Name: "host-" + id, Status: svc.HostOnline, Labels: map[string]string{},
				Providers: map[string]svc.ProviderReport{}, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
			if err := tx.InsertHost(ctx, h); err != nil {
				return err
			}
			l.hosts = append(l.hosts, h.ID)
		}
	}
	l.big, l.other = l.projects[0], l.projects[1]
	l.busyHost, l.quietHost = l.hosts[0], l.hosts[9]
	for _, root := range []*string{&l.bigTree, &l.lateTree, &l.smallTree, &l.wideParent} {
		w := l.newItem(tx, l.big, nil, svc.KindEpic, svc.ItemTodo)
		*root = w.ID
		if err := tx.InsertWorkItem(ctx, &w); err != nil {
			return err
		}
	}
	return nil
}

func (l *library) newItem(tx *store.Tx, project string, parent *string, kind svc.Kind, status svc.ItemStatus) svc.WorkItem {
	l.rank = svc.RankBetween(l.rank, "")
	id := svc.NewID()
	w := svc.WorkItem{ID: id, ProjectID: project, ParentID: parent, Kind: kind, Title: "A piece of work", Description: "What is to be done, in a sentence or two.",
		Status: status, StatusSource: svc.SourceByHand, Path: id, Position: l.rank, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	if parent != nil {
		w.Path = *parent + "/" + id
	}
	return w
}

// item writes one work item. The rarest match, a cancelled milestone, is one in 2,500.
func (l *library) item(ctx context.Context, tx *store.Tx, i int, random *rand.Rand) error {
	project, parent := l.big, (*string)(nil)
	switch share := random.Float64(); {
	case i < 60:
		parent = &l.smallTree
	case i > l.size*9/10:
		parent = &l.lateTree
	case share < 0.33:
		parent = &l.bigTree
	case share < 0.39:
		parent = &l.wideParent
	case share < 0.55: // a root of the big project
	default:
		project = l.projects[1+random.IntN(10)]
	}
	kind, status := svc.KindTask, svc.ItemTodo
	switch share := random.Float64(); {
	case share < 0.02:
		kind = svc.KindMilestone
	case share < 0.10:
		kind = svc.KindEpic
	case share < 0.40:
		kind = svc.KindSubtask
	}
	switch share := random.Float64(); {
	case share < 0.02:
		status = svc.ItemCancelled
	case share < 0.10:
		status = svc.ItemDoing
	case share < 0.60:
		status = svc.ItemDone
	}
	w := l.newItem(tx, project, parent, kind, status)
	if kind == svc.KindTask && len(l.tasks) < 500 {
		l.tasks = append(l.tasks, w.ID)
		l.busyTask, l.quietTask = l.tasks[0], l.tasks[len(l.tasks)-1]
	}
	return tx.InsertWorkItem(ctx, &w)
}

// run writes one run. Most runs have ended.
func (l *library) run(ctx context.Context, tx *store.Tx, i int, random *rand.Rand) error {
	id := svc.NewRunID()
	at := svc.Time(int64(tx.Now) - int64(l.size) + int64(i))
	task, host := l.busyTask, l.busyHost
	if random.Float64() > 0.01 {
		task = l.tasks[random.IntN(len(l.tasks))]
	}
	switch share := random.Float64(); {
	case share < 0.02:
		host = l.quietHost
	case share < 0.60:
		host = l.hosts[1+random.IntN(8)]
	}
	project := l.big
	if random.Float64() < 0.4 {
		project = l.projects[1+random.IntN(10)]
	}
	status := svc.RunExited
	switch share := random.Float64(); {
	case share < 0.005:
		status = svc.RunRunning
	case share < 0.02:
		status = svc.RunStopped
	case share < 0.12:
		status = svc.RunFailed
	}
	r := svc.Run{ID: id, TaskID: task, ProjectID: project, Provider: "provider_a", SessionName: "svc-" + id, Status: status, Attempt: 1, HostID: &host,
		Prompt: "Do what the task says.", Args: []string{}, Env: map[string]string{}, RestartPolicy: svc.RestartNever, PendingSince: at,
		StartedAt: &at, CreatedAt: at, UpdatedAt: at, Version: 1}
	if !status.Active() {
		r.EndedAt, r.SessionEndedAt = &at, &at
	}
	return tx.InsertRun(ctx, r)
}

// settle updates PostgreSQL's statistics, which the server does by itself within a minute. The product does nothing
// like it on SQLite, so settle does not either.
func settle(ctx context.Context, name string, dsns ...string) error {
	if name != "PostgreSQL" {
		return nil
	}
	for _, dsn := range dsns {
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "VACUUM ANALYZE")
		if err = errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	return nil
}
