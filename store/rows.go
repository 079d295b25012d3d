package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc"
)

// Row names a row that a unit of work will need. A group locks the rows of all
// its units before it runs the first unit: with one statement for each table, in
// a fixed order (keys, projects, hosts, runs; by id). Therefore the groups of
// several orchestrators can wait for each other but cannot deadlock. Locking also
// reads the row, so that the unit needs no round trip for it. A row that a unit
// did not name is locked when the unit needs it.
//
// On SQLite nothing is locked, because there is only one writer.
type Row struct {
	of rowTable
	id string
}

type rowTable int

const (
	keyRow rowTable = iota
	projectRow
	targetRow
	hostRow
	runRow
	runProjectRow
	itemRow
	rowTables // the number of kinds
)

// KeyRow is an idempotency key. Units with the same key wait for each other.
func KeyRow(key string) Row { return Row{keyRow, key} }

// ProjectRow is a project, by id or slug, that the unit changes, or in which it
// changes items.
func ProjectRow(idOrSlug string) Row { return Row{projectRow, idOrSlug} }

// ItemRow is a work item that the unit changes: its project is locked.
func ItemRow(id string) Row { return Row{itemRow, id} }

// TargetRow is the work item of a new run. Its project gets a shared lock, so
// that others can add runs to the project at the same time.
func TargetRow(itemID string) Row { return Row{targetRow, itemID} }

// HostRow is a host, by id or name.
func HostRow(idOrName string) Row { return Row{hostRow, idOrName} }

// RunRow is a run.
func RunRow(id string) Row { return Row{runRow, id} }

// HostRows are hosts by id.
func HostRows(ids ...string) []Row { return rowsOf(HostRow, ids) }

// RunRows are runs.
func RunRows(ids ...string) []Row { return rowsOf(RunRow, ids) }

func rowsOf(row func(string) Row, ids []string) []Row {
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i] = row(id)
	}
	return rows
}

// RunProjectRow is the project of a run, in which the unit changes items.
func RunProjectRow(runID string) Row { return Row{runProjectRow, runID} }

// lockedRows is what a group has locked and read, as its transaction sees it.
// Only the writer's goroutine uses it. On SQLite nothing is locked or read before
// the units run, but the targets that a unit reads are kept for later units.
type lockedRows struct {
	keys     map[string]keptRow
	projects map[string]svc.Project // with the fields that RunTarget.Project has
	targets  map[string]RunTarget   // of Project only the id
	reserved []string               // new keys: the group deletes those for which its units store nothing
}

type keptRow struct {
	KeptKey
	at svc.Time
}

// deleteUnused returns the statement that deletes the new keys for which no unit has
// stored anything.
func (l *lockedRows) deleteUnused() []statement {
	if !slices.ContainsFunc(l.reserved, func(key string) bool { return l.keys[key].reserved() }) {
		return nil
	}
	return []statement{{rows: anyRows, args: []any{l.reserved},
		sql: "DELETE FROM idempotency WHERE key = ANY($1) AND fingerprint = '' AND result = '' AND owner = ''"}}
}

// reserved reports whether the row was only created by lockKeys, to lock the key.
func (k keptRow) reserved() bool { return k.Fingerprint == "" && k.Result == "" && k.Owner == "" }

// target keeps the target of a new run that a unit has read, for later units that
// add runs to the same item or project.
func (l *lockedRows) target(itemID string, t RunTarget) {
	if l.targets == nil {
		l.targets = map[string]RunTarget{}
	}
	if l.projects == nil {
		l.projects = map[string]svc.Project{}
	}
	l.targets[itemID], l.projects[t.Project.ID] = t, t.Project
}

// lock returns the statements that lock and read the rows of some units.
func (w *writer) lock(units []*unit) []statement {
	var of [rowTables]map[string]bool
	for i := range of {
		of[i] = map[string]bool{}
	}
	for _, u := range units {
		for _, r := range u.rows {
			of[r.of][r.id] = true
		}
	}
	ids := func(t rowTable) []string { return slices.Sorted(maps.Keys(of[t])) }
	w.locked = lockedRows{keys: map[string]keptRow{}, projects: map[string]svc.Project{}, targets: map[string]RunTarget{}}
	var list []statement
	if keys := ids(keyRow); len(keys) > 0 {
		list = append(list, w.lockKeys(keys)...)
	}
	list = append(list, w.lockProjects(ids(projectRow), ids(targetRow), ids(runProjectRow), ids(itemRow))...)
	if hosts := ids(hostRow); len(hosts) > 0 {
		list = append(list, w.lockHosts(hosts))
	}
	if runs := ids(runRow); len(runs) > 0 {
		list = append(list, w.lockRuns(runs)...)
	}
	return list
}

// lockKeys inserts the keys that are new and locks the others. It waits for a key
// that another orchestrator is using.
func (w *writer) lockKeys(keys []string) []statement {
	return []statement{{rows: anyRows, args: []any{keys, w.now()}, sql: `INSERT INTO idempotency (key, fingerprint, result, owner, created_at)
		SELECT key, '', '', '', $2 FROM unnest(CAST($1 AS TEXT[])) AS key ORDER BY key ON CONFLICT (key) DO NOTHING`},
		{args: []any{keys}, sql: "SELECT key, fingerprint, result, owner, created_at FROM idempotency WHERE key = ANY($1) ORDER BY key" + w.dialect.forUpdate,
			scan: func(row scanner) error {
				var key string
				var k keptRow
				err := row.Scan(&key, &k.Fingerprint, &k.Result, &k.Owner, &k.at)
				w.locked.keys[key] = k
				if k.reserved() {
					w.locked.reserved = append(w.locked.reserved, key)
				}
				return err
			}}}
}

// lockProjects locks projects and then reads the items of new runs. In the other
// order, an item could be deleted after it was read, while the project's lock is
// awaited. All projects get the same kind of lock, so that a group never locks
// the same project twice.
func (w *writer) lockProjects(projects, targets, runs, items []string) []statement {
	changed := len(projects) + len(runs) + len(items)
	if changed+len(targets) == 0 {
		return nil
	}
	strength := w.dialect.forShare
	if changed > 0 {
		strength = w.dialect.forUpdate
	}
	var of []string // only the queries that are needed, because PostgreSQL plans this statement each time
	var args []any
	add := func(ids []string, queries ...string) {
		if len(ids) == 0 {
			return
		}
		args = append(args, ids)
		for _, q := range queries {
			of = append(of, fmt.Sprintf("SELECT %s = ANY($%d)", q, len(args)))
		}
	}
	add(projects, "id FROM projects WHERE id", "id FROM projects WHERE slug")
	add(targets, "project_id FROM work_items WHERE id")
	add(runs, "project_id FROM runs WHERE id")
	add(items, "project_id FROM work_items WHERE id")
	list := []statement{{args: args, sql: "SELECT id, slug, status, cwd, provider, model, repo, isolation FROM projects WHERE id IN (" +
		strings.Join(of, " UNION ") + ") ORDER BY id" + strength,
		scan: func(row scanner) error {
			var p svc.Project
			err := row.Scan(&p.ID, &p.Slug, &p.Status, &p.Cwd, &p.Provider, &p.Model, &p.Repo, &p.Isolation)
			w.locked.projects[p.ID] = p
			return err
		}}}
	if len(targets) == 0 {
		return list
	}
	return append(list, statement{args: []any{targets}, sql: "SELECT id, kind, title, number, manual_marks, blocked, project_id FROM work_items WHERE id = ANY($1) AND deleted_at IS NULL",
		scan: func(row scanner) error {
			var id string
			var t RunTarget
			err := row.Scan(&id, &t.Kind, &t.Title, &t.Number, &t.ManualMarks, &t.Blocked, &t.Project.ID)
			w.locked.targets[id] = t
			return err
		}})
}

// lockHosts locks hosts. For ids and names in one condition, PostgreSQL would
// compare each host with the whole list.
func (w *writer) lockHosts(hosts []string) statement {
	which, args := "id = ANY($1)", []any{hosts}
	if slices.ContainsFunc(hosts, func(h string) bool { return !svc.IsID(h) }) {
		which = "id IN (SELECT id FROM hosts WHERE id = ANY($1) UNION SELECT id FROM hosts WHERE name = ANY($1))"
	}
	return statement{rows: anyRows, args: args, sql: "SELECT id FROM hosts WHERE " + which + " AND deleted_at IS NULL ORDER BY id" + w.dialect.forUpdate}
}

// lockRuns locks and reads runs, and reads their signals. A run with a very long
// prompt is left to the unit that needs it, because a group must fit into memory.
func (w *writer) lockRuns(runs []string) []statement {
	return []statement{{args: []any{runs, largestRunRow}, sql: "SELECT " + runColumns + ` FROM runs
			WHERE id = ANY($1) AND pg_column_size(prompt) + pg_column_size(args) + pg_column_size(env) <= $2 ORDER BY id` + w.dialect.forUpdate,
		scan: func(row scanner) error {
			r, err := scanRun(row)
			if err == nil {
				w.rows.put(r)
			}
			return err
		}},
		{args: []any{runs}, sql: "SELECT run_id, attempt, kind FROM processed_signals WHERE run_id = ANY($1)",
			scan: func(row scanner) error {
				var id string
				var k signalKey
				err := row.Scan(&id, &k.attempt, &k.kind)
				w.rows.addSignal(id, k)
				return err
			}}}
}

// clear drops what was read, after a unit was rolled back. Later units read it
// again.
func (l *lockedRows) clear() {
	*l = lockedRows{reserved: l.reserved}
}

// merge stores the idempotency keys that a unit wrote.
func (l *lockedRows) merge(tx *Tx) {
	for key, k := range tx.kept {
		if l.keys != nil {
			l.keys[key] = k
		}
	}
}
