package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"svc/cli"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

// TestMain makes the test binary svc itself: scripts, and the sessions that a
// worker starts, call it by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"svc": func() { os.Exit(cli.Main(os.Args[1:])) },
	})
}
