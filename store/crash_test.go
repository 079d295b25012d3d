//go:build linux

package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/waittest"
	"svc/store"
)

// After a crash, PostgreSQL may give the id of a transaction that was in progress to another transaction. A group whose
// COMMIT was not answered must not take the success of that transaction for its own.
func TestACommitThatACrashTookIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	c := pgtest.NewCluster(t)
	s := openStore(t, c.DSN)
	writeUntil(t, s)
	id := svc.NewID()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": id})
		c.Crash()
		c.Launch()
		for deadline := time.Now().Add(waittest.Patience); !c.Answers(t.Context()); {
			if time.Now().After(deadline) {
				t.Fatal("the database does not come back")
			}
		}
		other, err := pgx.Connect(t.Context(), c.DSN)
		if err != nil {
			return err
		}
		defer func() { _ = other.Close(t.Context()) }()
		for range 20 { // one of these transactions gets the id that the group had
			if _, err := other.Exec(t.Context(), "SELECT pg_current_xact_id()"); err != nil {
				return err
			}
		}
		return nil
	})
	events, listed := s.Events(t.Context(), svc.EventFilter{Subjects: svc.Subjects{ProjectID: id}}, svc.Page{Limit: 1})
	if listed != nil {
		t.Fatal(listed)
	}
	if there := len(events.Items) > 0; err == nil != there {
		t.Errorf("the write is answered with %v, and is there: %v", err, there)
	}
}
