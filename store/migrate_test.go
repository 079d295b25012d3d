package store

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pressly/goose/v3"

	"svc/internal/pgtest"
)

// The migration numbers existing items in the order of their creation, including deleted ones.
func TestItemsOfAnOlderDatabaseGetNumbersByAge(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (*dialect, *sql.DB){
		"sqlite": func(t *testing.T) (*dialect, *sql.DB) {
			db, err := openSQLite(filepath.Join(t.TempDir(), "svc.db"), toWrite)
			if err != nil {
				t.Fatal(err)
			}
			return sqliteDialect, db
		},
		"postgres": func(t *testing.T) (*dialect, *sql.DB) {
			db, err := sql.Open("pgx", pgtest.Start(t))
			if err != nil {
				t.Fatal(err)
			}
			return postgresDialect, db
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, db := open(t)
			t.Cleanup(func() { _ = db.Close() })
			steps, _, err := migrations(d)
			if err != nil {
				t.Fatal(err)
			}
			before, err := goose.NewProvider(goose.Dialect(d.name), db, nil, goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := before.UpTo(t.Context(), 12); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), olderRows); err != nil {
				t.Fatal(err)
			}
			if err := migrate(t.Context(), db, d); err != nil {
				t.Fatal(err)
			}
			if got, want := numbersByID(t, db), []string{"a=1", "b=2", "c=3", "x=1"}; !slices.Equal(got, want) {
				t.Errorf("the items are numbered %v, want %v", got, want)
			}
		})
	}
}

// olderRows inserts two projects with items. In the first project b is deleted, and b and c were created in the same
// millisecond.
const olderRows = `
INSERT INTO projects (id, name, slug, description, status, cwd, created_at, updated_at, version) VALUES
	('p', '', 'p', '', 'active', '', 1, 1, 1), ('q', '', 'q', '', 'active', '', 1, 1, 1);
INSERT INTO work_items (id, project_id, kind, title, description, status, status_source, path, position, auto_mark_done, manual_marks,
	created_at, updated_at, version, deleted_at) VALUES
	('c', 'p', 'task', '', '', 'todo', 'manual', 'c', 'a', FALSE, 0, 2, 2, 1, NULL),
	('b', 'p', 'task', '', '', 'todo', 'manual', 'b', 'b', FALSE, 0, 2, 2, 1, 3),
	('a', 'p', 'task', '', '', 'todo', 'manual', 'a', 'c', FALSE, 0, 1, 1, 1, NULL),
	('x', 'q', 'task', '', '', 'todo', 'manual', 'x', 'd', FALSE, 0, 3, 3, 1, NULL);`

func numbersByID(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT id || '=' || number FROM work_items ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
