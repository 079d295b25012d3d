package fault

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// notReady returns the cause in the response of /readyz; "" if the orchestrator is ready or does not respond.
func notReady(t *testing.T, o *proctest.Orchestrator) string {
	t.Helper()
	res, err := o.Get(t.Context(), "/readyz")
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	var e api.Envelope
	if res.StatusCode != http.StatusServiceUnavailable || json.NewDecoder(res.Body).Decode(&e) != nil {
		return ""
	}
	cause, _ := e.Error.Details["cause"].(string)
	return cause
}

func TestAnOrchestratorWhoseDatabaseVanishesSaysSoComesBackAndEndsWhenAsked(t *testing.T) {
	t.Parallel()
	link, dsn := pgtest.NewLink(t, pgtest.Start(t))
	o := proctest.NewOrchestrator(proctest.NewLab(t), proctest.ServeOptions{Database: dsn})
	o.Start()
	link.Set(pgtest.Swallows)
	away := func() bool { return notReady(t, o) == "database_unreachable" }
	waittest.Eventually(t, "/readyz reports that the database is unreachable", away)
	link.Set(pgtest.Works)
	o.AwaitReady()
	link.Set(pgtest.Swallows)
	waittest.Eventually(t, "/readyz reports again that the database is unreachable", away)
	o.Signal(syscall.SIGTERM)
	// The orchestrator must end within 8 seconds; a loaded machine gets 8 more. Its exit code may be an error, because
	// it could not write its last records.
	_ = o.Wait(16 * time.Second)
}

func TestAnOrchestratorThatWasReplacedStopsServing(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	link, through := pgtest.NewLink(t, dsn)
	first := proctest.NewOrchestrator(proctest.NewLab(t), proctest.ServeOptions{Database: through})
	first.Start()
	link.Set(pgtest.Swallows)
	second := proctest.NewOrchestrator(proctest.NewLab(t), proctest.ServeOptions{Database: dsn})
	second.Start()
	link.Set(pgtest.Works)
	if err := first.Wait(waittest.Patience); err == nil {
		t.Error("the replaced orchestrator ended with exit code 0")
	}
	if log := first.Log(); !strings.Contains(log, "another orchestrator has taken over this database: pid ") {
		t.Errorf("the log of the replaced orchestrator does not name the new one:\n%s", log)
	}
	second.AwaitReady()
}

func TestAnOrchestratorThatWasKilledIsReplacedWithinSeconds(t *testing.T) {
	t.Parallel()
	o := proctest.NewOrchestrator(proctest.NewLab(t), proctest.ServeOptions{Database: pgtest.Start(t)})
	o.Start()
	o.Kill()
	began := time.Now()
	o.Start()
	t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))
}
