// Package fault tests what is promised when things break: real processes of the real binary are
// killed, cut off, starved of disk and cloned, and afterwards nothing may be lost, nothing may have
// happened twice, and nothing may be stuck.
//
// Each test has a short variant that always runs and, where more rounds or longer outages can find
// more, a long one behind SVC_TEST_LONG=1.
package fault

import (
	"os"
	"testing"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.MainParallel(pgtest.Tests{M: m}, 4)) }

// either is the short value, or the long one when the long variants run.
func either[T any](short, long T) T {
	if proctest.Long() {
		return long
	}
	return short
}
