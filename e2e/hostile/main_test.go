// Package hostile holds a worker that tries everything a host's token can against a real orchestrator, beside
// a neighbour with a run. The neighbour must notice nothing: neither its run's status, log and screen change, nor do
// its requests take long; and the orchestrator's memory grows by a bounded sum.
package hostile

import (
	"os"
	"testing"

	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.Main(m)) }
