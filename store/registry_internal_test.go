package store

import (
	"log/slog"
	"testing"

	"svc"
	"svc/internal/pgtest"
)

// Of several members that start on an empty database at once, one may find it half migrated, and the others lead before
// it can take the lease.
func TestAMemberThatFoundAHalfMigratedDatabaseJoinsTheOthers(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	m := Member{ID: svc.NewID(), Address: "a:1", Version: "v1", KeyPrint: "key", TokenPrint: "tokens"}
	r, err := Join(t.Context(), dsn, m, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	leads, err := takeLease(t.Context(), r.db, m.ID, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leads.release() }()
	if err := r.migrateAlone(t.Context(), slog.Default()); err != nil {
		t.Errorf("a member beside one that leads was refused: %v", err)
	}
}
