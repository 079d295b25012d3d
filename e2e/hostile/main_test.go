// Package hostile tests a real orchestrator against a hostile worker, a stolen host token and hostile agents. A
// hostile worker sends every kind of request for which a host's token is sufficient, while another host (the
// neighbour) has a run. The neighbour must not be affected: the status, the log and the screen of its run do not
// change, and its requests stay fast. The orchestrator's memory may grow only by a bounded amount.
package hostile

import (
	"os"
	"testing"

	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.Main(m)) }
