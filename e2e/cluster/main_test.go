// Package cluster tests several orchestrators on one PostgreSQL: real processes of the real binary with a balancer in front, of which some are
// killed, frozen, cut off from the database or from each other.
package cluster

import (
	"os"
	"testing"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.MainParallel(pgtest.Tests{M: m}, 3)) }
