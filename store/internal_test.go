package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/internal/pgtest"
)

// onBoth runs a test on a database of each kind.
func onBoth(t *testing.T, o Options, test func(t *testing.T, s *Store)) {
	t.Helper()
	for engine, dsn := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "svc.db") },
		"postgres": func(t *testing.T) string { return pgtest.Start(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), dsn(t), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			test(t, s)
		})
	}
}

// Deleted items cannot be read through the store, but an audit reads their rows:
// their paths must stay correct when their subtree moves.
func TestDeletedRowsMoveWithTheirSubtree(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, s *Store) {
		ids := chainOfItems(t, s, 4)
		to := svc.NewID()
		err := s.Write(t.Context(), func(tx *Tx) error {
			if _, err := tx.DeleteSubtree(t.Context(), ids[2]); err != nil {
				return err
			}
			return tx.MoveSubtree(t.Context(), ids[0], ids[0], to+"/"+ids[0])
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(ids); i++ {
			var path string
			if err := s.read.QueryRowContext(t.Context(), "SELECT path FROM work_items WHERE id = $1", ids[i]).Scan(&path); err != nil {
				t.Fatal(err)
			}
			if want := to + "/" + strings.Join(ids[:i+1], "/"); path != want {
				t.Errorf("level %d is at %s, want %s", i, path, want)
			}
		}
	})
}

// chainOfItems inserts items, each of which is the parent of the next.
func chainOfItems(t *testing.T, s *Store, n int) (ids []string) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *Tx) error {
		p := svc.Project{ID: svc.NewID(), Slug: "s", Status: svc.ProjectActive, Version: 1}
		if err := tx.InsertProject(t.Context(), p); err != nil {
			return err
		}
		last := ""
		for range n {
			last = svc.RankBetween(last, "")
			item := svc.WorkItem{ID: svc.NewID(), ProjectID: p.ID, Position: last, Version: 1}
			if len(ids) > 0 {
				item.ParentID = &ids[len(ids)-1]
			}
			ids = append(ids, item.ID)
			item.Path = strings.Join(ids, "/")
			if err := tx.InsertWorkItem(t.Context(), &item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// FuzzCursor decodes arbitrary texts as cursors. A text is refused as invalid, or
// its values name the same position after they are encoded again.
func FuzzCursor(f *testing.F) {
	f.Add(cursor("work_items", "800001", "id"))
	f.Add(cursor("runs", int64(1)<<62, "id"))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`["work_items","\ud800","\u0000"]`)))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`["runs",1e3,"x"]`)))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		var position, id string
		err := readCursor("work_items", text, &position, &id)
		checkRefusal(t, err)
		if err == nil {
			var p, i string
			if err := readCursor("work_items", cursor("work_items", position, id), &p, &i); err != nil || p != position || i != id {
				t.Errorf("%q, %q came back as %q, %q (%v)", position, id, p, i, err)
			}
			if strings.ContainsRune(position+id, 0) {
				t.Error("a cursor with a NUL was taken")
			}
		}
		var at int64
		err = readCursor("runs", text, &at, &id)
		checkRefusal(t, err)
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if err != nil && svc.CodeOf(err) != svc.CodeValidation {
		t.Errorf("a cursor was refused with %v", err)
	}
}

func TestHeartbeatsOfManyHostsTakeFewStatements(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for hosts, want := range map[int]int{0: 0, 1: 1, 9: 1, 512: 1, 1000: 2} {
		seen := map[string]svc.Time{}
		for range hosts {
			seen[svc.NewID()] = 1
		}
		counted := &countingQuerier{}
		err := s.Write(t.Context(), func(tx *Tx) error {
			counted.querier = tx.q.q
			tx.q.q = counted
			return tx.SeenHosts(t.Context(), seen)
		})
		if err != nil || counted.execs != want {
			t.Errorf("%d hosts took %d statements, want %d (%v)", hosts, counted.execs, want, err)
		}
	}
}

// countingQuerier counts the calls of ExecContext.
type countingQuerier struct {
	querier
	execs int
}

func (c *countingQuerier) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.execs++
	return c.querier.ExecContext(ctx, query, args...)
}

// If the database is unreachable, units behind a failed group fail with that group's error. If the lease was lost, they
// fail with the lease's error.
func TestWhatWaitsBehindABrokenGroupLearnsOfALostLease(t *testing.T) {
	t.Parallel()
	lost := svc.Unavailable(svc.CauseLostLock)
	w := &writer{lease: &lease{err: lost}, queue: make(chan *unit, 1), closed: make(chan struct{})}
	u := w.queueUnit(t.Context(), nil, false, nil)
	w.refuseQueued(svc.Unavailable(svc.CauseDatabaseUnreachable))
	<-u.done
	if svc.CauseOf(u.err) != svc.CauseLostLock {
		t.Errorf("it was told: %v", u.err)
	}
}

func TestAParameterIsUnnumberedWhereItsPlaceSaysWhichItIs(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1",
		"UPDATE t SET a = $1, b = $2 WHERE id = $3":                   "UPDATE t SET a = ?, b = ? WHERE id = ?",
		"SELECT a FROM t WHERE a = $1 OR b = $1":                      "SELECT a FROM t WHERE a = $1 OR b = $1",
		"SELECT a FROM t WHERE a = $2 AND b = $1":                     "SELECT a FROM t WHERE a = $2 AND b = $1",
		"SELECT a FROM t WHERE a IN (SELECT json_each(?)) AND b = $1": "SELECT a FROM t WHERE a IN (SELECT json_each(?)) AND b = $1",
		"SELECT json_extract(a, '$.b') FROM t WHERE a = $1":           "SELECT json_extract(a, '$.b') FROM t WHERE a = ?",
	} {
		if got := unnumbered(query); got != want {
			t.Errorf("%s\nbecomes %s\nwant %s", query, got, want)
		}
	}
}
