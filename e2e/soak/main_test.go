// Package soak runs the whole system under load while faults happen, and then checks the results.
//
// A real orchestrator, real workers, tmux and shell agents are killed, frozen, disconnected or get a full
// disk at random, while clients send requests. Each agent writes its real actions to a file outside of
// svc. When the faults are over and everything has settled, the judge compares the journal, the records,
// the logs and the screens with the requests that were acknowledged, and with what happened on the hosts.
// Each difference is a violation and fails the test.
//
// The short form runs with the other tests. "make soak MINUTES=20 [DATABASE=sqlite|postgres|members] [SEED=n]"
// runs the long form. "members" means three orchestrators on one PostgreSQL, behind a balancer. The seed
// determines the faults and their order. Their exact effects differ from run to run.
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

// The databases on which a soak runs.
const (
	onSQLite    = "sqlite"
	onPostgres  = "postgres"
	withMembers = "members" // three orchestrators on one PostgreSQL
)

// settings are the duration of a soak and the databases on which it runs.
type settings struct {
	long     bool
	duration time.Duration // of the faults, without the time to settle
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
