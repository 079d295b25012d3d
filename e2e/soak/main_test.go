// Package soak runs the whole system under load while everything around it breaks, and then judges it.
//
// A real orchestrator, real workers, tmux and shell agents are killed, frozen, cut off and starved of
// disk at random, while clients create, change, stop and answer. Each agent writes down, outside of
// svc, what it really did. When the faults are over and everything has settled, the judge compares the
// journal, the records, the logs and the screens with what was acknowledged to the clients and with what
// happened on the hosts. Each difference is a violation and fails the test.
//
// The short form runs with the other tests. "make soak MINUTES=20 [DATABASE=sqlite|postgres|members] [SEED=n]"
// runs the long one; members are three orchestrators on one PostgreSQL, behind a balancer. The seed decides which faults come in which order; what they meet is up to the
// moment.
package soak

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(proctest.Main(pgtest.Tests{M: m}))
}

// What a soak runs on.
const (
	onSQLite    = "sqlite"
	onPostgres  = "postgres"
	withMembers = "members" // three orchestrators on one PostgreSQL
)

// settings is how long and on what a soak runs.
type settings struct {
	long     bool
	duration time.Duration // of the faults; settling comes on top
	kinds    []string
	seed     uint64
}

func readSettings(t *testing.T) settings {
	t.Helper()
	s := settings{duration: 25 * time.Second, kinds: []string{onSQLite, withMembers}, seed: rand.Uint64N(1_000_000)}
	if text := os.Getenv("SVC_SOAK_MINUTES"); text != "" {
		minutes, err := strconv.ParseFloat(text, 64)
		if err != nil || minutes <= 0 {
			t.Fatalf("SVC_SOAK_MINUTES is %q, want a number of minutes", text)
		}
		s.long, s.duration = true, time.Duration(minutes*float64(time.Minute))
		s.kinds = []string{onSQLite, onPostgres, withMembers}
	}
	if kind := os.Getenv("SVC_SOAK_DATABASE"); kind != "" {
		s.kinds = []string{kind}
	}
	if text := os.Getenv("SVC_SOAK_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SVC_SOAK_SEED is %q, want a number", text)
		}
		s.seed = seed
	}
	return s
}
