// Package cluster tests several orchestrators on one PostgreSQL: real processes of the real binary behind a balancer.
// The tests kill or freeze some of them, or disconnect them from the database or from each other.
package cluster

import (
	"os"
	"testing"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) { os.Exit(proctest.MainParallel(pgtest.Tests{M: m}, 3)) }
