package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"svc/cli"
	"svc/internal/pgtest"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

// suite runs the tests and then stops their PostgreSQL server.
type suite struct{ m *testing.M }

// Run runs the tests.
func (s suite) Run() int { return pgtest.Main(s.m) }

// TestMain makes the test binary act as svc when it is called by that name:
// scripts, and the sessions that a worker starts, call it so.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){
		"svc": func() { os.Exit(cli.Main(os.Args[1:])) },
	})
}
