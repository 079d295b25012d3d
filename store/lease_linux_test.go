package store_test

import (
	"testing"

	"svc"
	"svc/internal/pgtest"
)

func TestRestartOfPostgreSQLLetsNoSecondOrchestratorIn(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	first := openExclusive(t, cluster.DSN)
	cluster.Stop()
	cluster.Launch()
	wantRefused(t, cluster.DSN)
	writeUntil(t, first)
	cluster.Stop()
	cluster.Launch()
	writeUntil(t, first)
	select {
	case <-first.Lost():
		t.Errorf("the first one was thrown out: %v", first.LostError())
	default:
	}
}

// A server whose processes are frozen accepts connections but does not answer.
func TestFrozenPostgreSQLLosesNobodyTheDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	first := openExclusive(t, cluster.DSN)
	cluster.Freeze()
	err := first.Write(t.Context(), journalOne)
	if svc.CauseOf(err) != svc.CauseDatabaseUnreachable {
		t.Errorf("a write to a frozen server: %v", err)
	}
	cluster.Thaw()
	writeUntil(t, first)
	wantRefused(t, cluster.DSN)
	writeUntil(t, first)
}
