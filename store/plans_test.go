package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/internal/pgtest"
)

// The cost of a placement pass depends on the open runs, not on all runs: SQLite
// must not use the indexes of all runs.
func TestPlacementReadsOpenRunsAlone(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, c := range []struct{ query, index string }{
		{hostQuery + " WHERE deleted_at IS NULL ORDER BY name", "runs_open"},
		{"SELECT " + openRuns + " FROM hosts WHERE id IN ('a', 'b')", "runs_open"},
		{"SELECT id FROM runs WHERE " + openOn + " IN ('a', 'b') AND status IN ('spawning', 'running') LIMIT 5", "runs_open"},
		{"SELECT id FROM runs WHERE " + openOn + " = 'a' AND status IN ('exited', 'failed', 'stopped') ORDER BY created_at + 0, id", "runs_open"},
		{"SELECT id FROM runs WHERE " + openOn + " = 'a' AND acked AND status <> 'pending' ORDER BY id", "runs_open"},
		{"SELECT " + openInProject("projects.id || ''") + " FROM projects WHERE id = 'a'", "runs_open_in_project"},
		{"SELECT " + openInProject("'a'"), "runs_open_in_project"},
	} {
		if plan := planOf(t, s, c.query); len(plan) != 1 || !strings.Contains(plan[0], "INDEX "+c.index+" (<expr>=?)") {
			t.Errorf("%s\nis planned as %q, want one search in %s", c.query, plan, c.index)
		}
	}
	if plan := planOf(t, s, hostLoads); len(plan) != 1 || !strings.Contains(plan[0], "INDEX runs_open") {
		t.Errorf("%s\nis planned as %q, want the open runs alone", hostLoads, plan)
	}
	unconfirmed := "SELECT host_id, count(*) FROM runs WHERE " + isUnconfirmed + " GROUP BY host_id"
	if plan := planOf(t, s, unconfirmed); len(plan) != 1 || !strings.Contains(plan[0], "INDEX runs_unconfirmed") {
		t.Errorf("%s\nis planned as %q", unconfirmed, plan)
	}
}

// The same on PostgreSQL, even while its tables are small: then its planner uses any small index that contains the
// rows, and could read the open runs of all hosts for each host.
func TestPlacementSearchesTheOpenRunsOfAHost(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.Start(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, c := range []struct{ query, index, condition string }{
		{hostQuery + " WHERE deleted_at IS NULL ORDER BY name", "runs_open", "(hosts.id || ''::text))"},
		{"SELECT id FROM runs WHERE " + openOn + " = 'a' AND acked AND status <> 'pending' ORDER BY id", "runs_open", "'a'::text)"},
		{"SELECT " + openInProject("projects.id || ''") + " FROM projects WHERE id = 'a'", "runs_open_in_project", "(projects.id || ''::text))"},
		{"SELECT " + openInProject("'a'"), "runs_open_in_project", "'a'::text)"},
	} {
		plan, err := collect(t.Context(), s.q, func(row scanner) (step string, err error) { return step, row.Scan(&step) }, "EXPLAIN "+c.query)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(plan, func(step string) bool { return strings.Contains(step, "Scan using "+c.index+" ") })
		if at < 0 || !strings.Contains(plan[at+1], "Index Cond: ") || !strings.HasSuffix(plan[at+1], c.condition) {
			t.Errorf("%s\nis planned as\n%s\nwant a search in %s", c.query, strings.Join(plan, "\n"), c.index)
		}
	}
}

// The rank of a new item is found without reading the other items of its project, even while PostgreSQL has no statistics
// about them.
func TestAPositionIsReadWithoutTheOthers(t *testing.T) {
	t.Parallel()
	open := func(dsn string) *Store {
		s, err := Open(t.Context(), dsn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	lite, pg := open("sqlite:"+filepath.Join(t.TempDir(), "svc.db")), open(pgtest.Start(t))
	for _, query := range []string{lastPosition, positionBefore, positionAfter} {
		query = strings.NewReplacer("$1", "'a'", "$2", "'b'").Replace(query)
		plan, err := collect(t.Context(), pg.q, func(row scanner) (step string, err error) { return step, row.Scan(&step) }, "EXPLAIN "+query)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, stepsOf(t, lite, query)...)
		text := strings.Join(plan, "\n")
		if strings.Count(text, "using work_items_by_project on ") != 1 || strings.Count(text, "INDEX work_items_by_project (") != 1 || strings.Contains(strings.ToLower(text), "sort") || strings.Contains(text, "TEMP") {
			t.Errorf("%s\nis planned as\n%s\nwant one step in the order of the positions", query, text)
		}
	}
}

// The cost of the inbox depends on open and failed runs, not on all runs and workspaces. Finding an entry by its key
// does not read the other entries of its kind.
func TestTheInboxReadsWhatIsOpenAlone(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	indexes := map[svc.InboxKind]string{svc.InboxNeedsInput: "runs_asking", svc.InboxFailed: "runs_failed", svc.InboxReview: "workspaces_to_review",
		svc.InboxUnconfirmed: "runs_open", svc.InboxLandFailed: "workspaces_land_failed"}
	for _, source := range inboxSources {
		query, args := source.list(svc.InboxFilter{After: 1}, 2, where{}, 51)
		plan := stepsOf(t, s, query, args...)
		if index := indexes[source.kind]; index != "" && !slices.ContainsFunc(plan, func(step string) bool { return strings.Contains(step, " INDEX "+index) }) {
			t.Errorf("%s is planned as %q, want a step by %s", source.kind, plan, index)
		}
		one := stepsOf(t, s, marked(source.from+" AND "+source.subject+" = $1")+" WHERE key = $2", "id", "key")
		for _, step := range append(plan, one...) {
			for _, table := range []string{"runs", "newer", "other", "messages", "later", "workspaces", "work_items", "inbox_marks"} {
				if whole := "SCAN " + table; step == whole || strings.HasPrefix(step, whole+" ") && !strings.Contains(step, indexes[source.kind]) {
					t.Errorf("%s reads all of %s: %q", source.kind, table, step)
				}
			}
		}
		for _, step := range one {
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, " INDEX runs_open") { // only few runs are open
				t.Errorf("an entry of %s is looked for among all: %q", source.kind, step)
			}
		}
	}
}

// planOf returns the steps of a query's plan that read runs.
func planOf(t *testing.T, s *Store, query string) []string {
	t.Helper()
	return slices.DeleteFunc(stepsOf(t, s, query), func(step string) bool { return !strings.Contains(step, " runs ") })
}

// stepsOf returns the steps of SQLite's plan for a query.
func stepsOf(t *testing.T, s *Store, query string, args ...any) (plan []string) {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// planned is a querier that records SQLite's plans for its queries.
type planned struct {
	querier
	t     *testing.T
	s     *Store
	steps []string
}

func (p *planned) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p.steps = append(p.steps, stepsOf(p.t, p.s, query, args...)...)
	return p.querier.QueryContext(ctx, query, args...)
}

// For each documented filter of a list there is an index with the order of the list: a page is returned without reading
// a whole table and without sorting.
func TestEveryFilterOfAListWalksAnIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p := &planned{querier: s.read, t: t, s: s}
	r := Reader{q: edged{q: p, d: sqliteDialect}, d: sqliteDialect}
	page := svc.Page{Limit: 50, Bytes: 1 << 20}
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, step := range p.steps {
			whole := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, " INDEX ")
			if whole && (strings.Contains(step, "runs") || strings.Contains(step, "work_items")) || strings.Contains(step, "FOR ORDER BY") {
				t.Errorf("%s is planned as %q", what, p.steps)
				break
			}
		}
		p.steps = nil
	}
	some := func(bit, of int) bool { return of>>bit&1 == 1 }
	yes := true
	for of := range 1 << 6 {
		var f svc.RunFilter
		if some(0, of) {
			f.ProjectID = "p"
		}
		if some(1, of) {
			f.TaskID = "t"
		}
		if some(2, of) {
			f.HostID = "h"
		}
		if some(3, of) {
			f.Statuses = []svc.RunStatus{svc.RunFailed, svc.RunStopped}
		}
		if some(4, of) {
			f.NeedsInput = &yes
		}
		if some(5, of) {
			f.Provider, f.CreatedBy = "a", "b"
		}
		_, err := r.Runs(t.Context(), f, page)
		check(fmt.Sprintf("runs %+v", f), err)
	}
	for of := range 1 << 3 {
		var f svc.WorkItemFilter
		if some(0, of) {
			f.ProjectID = "p"
		}
		if some(1, of) {
			f.Statuses = []svc.ItemStatus{svc.ItemDoing, svc.ItemDone}
		}
		if some(2, of) {
			f.Kinds = []svc.Kind{svc.KindEpic, svc.KindTask}
		}
		_, err := r.WorkItems(t.Context(), f, page)
		check(fmt.Sprintf("items %+v", f), err)
	}
}
