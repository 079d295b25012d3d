// Package cluster tests several orchestrators on one PostgreSQL: real processes of the real binary with a balancer in front, of which some are
// killed, frozen, cut off from the database or from each other.
package cluster

import (
	"flag"
	"os"
	"testing"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "3"); err != nil { // they wait more than they compute
		panic(err)
	}
	os.Exit(proctest.Main(pgtest.Tests{M: m}))
}
