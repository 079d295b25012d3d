package worker

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"svc/internal/inotifytest"
)

// The cost of a pass must depend only on the current runs, not on the number of ended runs.
func TestAPassListsNoFolderOfEndedRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.Reconcile = 20 * time.Millisecond
	l.start()
	l.begin("sleep 600")
	over := l.begin("exit 0")
	l.cleared(over, 1)

	runs := filepath.Join(string(l.dir), "runs")
	next := inotifytest.Watch(t, map[string]uint32{l.runtime: unix.IN_OPEN, runs: unix.IN_OPEN, filepath.Join(runs, "done"): unix.IN_OPEN})
	for passes := 0; passes < 5; { // each pass lists the sockets
		switch listed := next(); {
		case listed.Name != "": // a file in the folder, not its list
		case listed.Dir == l.runtime:
			passes++
		default:
			t.Fatalf("a pass listed %s", listed.Dir)
		}
	}
}
