package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc"
)

// Row names a row that a unit of work will need. A group of units locks the
// rows of all its units before it runs the first: one statement a table, in one
// fixed order (keys, projects, hosts, runs; by id), so that the groups of
// several orchestrators wait for each other and never in a circle. What is
// locked so was also read so, and costs the unit no round trip. A unit that
// needs a row that it did not name locks it when it gets there.
//
// Nobody else writes to an SQLite file; there nothing is locked.
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
	rowTables // how many there are
)

// KeyRow is an idempotency key. Whoever uses the same one at the same time waits.
func KeyRow(key string) Row { return Row{keyRow, key} }

// ProjectRow is a project, by id or slug, that the unit changes, or in which it
// changes items.
func ProjectRow(idOrSlug string) Row { return Row{projectRow, idOrSlug} }

// ItemRow is a work item that the unit changes: its project is locked.
func ItemRow(id string) Row { return Row{itemRow, id} }

// TargetRow is the work item of a new run. Its project is shared with others
// that add runs.
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

// lockedRows is what a group has locked and read, as its transaction sees it. It
// belongs to the writer's goroutine. On SQLite nothing is locked or read before
// the units are run; what they read of targets is kept for those that follow.
type lockedRows struct {
	keys     map[string]keptRow
	projects map[string]svc.Project // as RunTarget has them
	targets  map[string]RunTarget   // without the project's slug and status
	reserved []string               // keys that are new: they go with the group if their units keep nothing
}

type keptRow struct {
	KeptKey
	at svc.Time
}

// unkept is the statement that gives up the keys whose units have kept nothing.
func (l *lockedRows) unkept() []statement {
	if !slices.ContainsFunc(l.reserved, func(key string) bool { return l.keys[key].reserved() }) {
		return nil
	}
	return []statement{{rows: anyRows, args: []any{l.reserved},
		sql: "DELETE FROM idempotency WHERE key = ANY($1) AND fingerprint = '' AND result = '' AND owner = ''"}}
}

// reserved says that the row was made by this group's lock.
func (k keptRow) reserved() bool { return k.Fingerprint == "" && k.Result == "" && k.Owner == "" }

// target keeps the target of a new run that was read: others are added to the
// same item or project.
func (l *lockedRows) target(itemID string, t RunTarget) {
	if l.targets == nil {
		l.targets = map[string]RunTarget{}
	}
	if l.projects == nil {
		l.projects = map[string]svc.Project{}
	}
	l.targets[itemID], l.projects[t.Project.ID] = t, t.Project
}

// lock is the statements that lock and read the rows of some units.
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
		list = append(list, statement{rows: anyRows, args: []any{hosts},
			sql: "SELECT id FROM hosts WHERE (id = ANY($1) OR name = ANY($1)) AND deleted_at IS NULL ORDER BY id" + w.dialect.forUpdate})
	}
	if runs := ids(runRow); len(runs) > 0 {
		list = append(list, w.lockRuns(runs)...)
	}
	return list
}

// lockKeys reserves keys that are new and locks those that are not. A key that
// another orchestrator is just using is waited for.
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

// lockProjects locks projects and then reads the items of new runs: an item that
// is read before could be deleted while its project is waited for. One kind of
// lock for all of them, so that no group asks twice for the same project.
func (w *writer) lockProjects(projects, targets, runs, items []string) []statement {
	changed := len(projects) + len(runs) + len(items)
	if changed+len(targets) == 0 {
		return nil
	}
	strength := w.dialect.forShare
	if changed > 0 {
		strength = w.dialect.forUpdate
	}
	var of []string // only what is asked for: PostgreSQL plans this anew each time
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

// lockRuns locks runs and reads which signals they had. One with a very long
// prompt is left to the unit that needs it: a group must fit into memory.
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
				w.rows.took(id, k)
				return err
			}}}
}

// clear forgets what was read: a unit was undone. Those that follow read again.
func (l *lockedRows) clear() {
	*l = lockedRows{reserved: l.reserved}
}

// merge takes over what a unit did.
func (l *lockedRows) merge(tx *Tx) {
	for key, k := range tx.kept {
		if l.keys != nil {
			l.keys[key] = k
		}
	}
}
