package store_test

import (
	"testing"
	"time"

	"svc/store"
	"svc/store/storetest"
)

// PostgreSQL needs a moment to notice that an orchestrator was killed. The next orchestrator waits for that.
func TestAnOrchestratorWaitsForTheOneBeforeItToGo(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	first, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	time.AfterFunc(500*time.Millisecond, func() { gone <- first.Close() })
	second, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
