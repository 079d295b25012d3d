// Package fault tests the behaviour after failures: real processes of the real binary are killed,
// disconnected, cloned or get a full disk. Afterwards nothing may be lost, nothing may have been
// executed twice, and nothing may hang.
//
// Each test has a short variant that always runs. Where more rounds or longer outages can find more,
// SVC_TEST_LONG=1 enables a long variant.
package fault

import (
	"os"
	"testing"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.MainParallel(pgtest.Tests{M: m}, 4)) }

// shortOrLong returns the short value, or the long value if the long variants are enabled.
func shortOrLong[T any](short, long T) T {
	if proctest.Long() {
		return long
	}
	return short
}
