package store

import (
	"errors"
	"testing"

	"svc"
	"svc/internal/pgtest"
)

// PostgreSQL does not refuse an update that finds no row. A unit with such a deferred change fails, and nothing of it is
// committed.
func TestAStaleDeferredChangeIsNotCommitted(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.Start(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	key := svc.NewID()
	err = s.WriteRepeatable(t.Context(), func(tx *Tx) error {
		tx.Emit(svc.TopicProjectUpdated, map[string]any{})
		return errors.Join(tx.KeepResult(t.Context(), key, "print", "result"),
			tx.later(t.Context(), 1, "UPDATE projects SET version = 2 WHERE id = $1 AND version = 1", key))
	}, KeyRow(key))
	if !errors.Is(err, errStale) {
		t.Errorf("a unit with a stale change answered %v", err)
	}
	if _, found, err := s.Kept(t.Context(), key, 0); found || err != nil {
		t.Errorf("the unit's result is stored: %v (%v)", found, err)
	}
	if head, _, err := s.JournalEnds(t.Context()); head != 0 || err != nil {
		t.Errorf("the unit's event is journaled: the head is %d (%v)", head, err)
	}
}
