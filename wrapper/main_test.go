package wrapper

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc/rundir"
)

// TestMain lets the test binary act as "svc exec run" for the tests that need a real process on a real
// terminal. Only the waits are shorter.
func TestMain(m *testing.M) {
	if os.Getenv("WRAPPER_TEST_RUN") != "" {
		os.Exit(runWithLittlePatience(os.Args[1]))
	}
	if len(os.Args) > 2 && os.Args[1] == "exec" && os.Args[2] == "signal" { // started by the name svc, as hooks do
		os.Exit(Signal(os.Args[3:], IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}))
	}
	if len(os.Args) == 3 && os.Args[1] == "exec" && os.Args[2] == "inside" {
		os.Exit(Inside(nil, IO{Stderr: os.Stderr, Env: os.Environ()}))
	}
	goleak.VerifyTestMain(m)
}

const testHangupStep = 300 * time.Millisecond

func runWithLittlePatience(path string) int {
	caught := catchSignals()
	launch, err := rundir.TakeLaunch(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitCannotRun
	}
	r := newRunner(launch, IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()})
	r.patience = patience{hangup: testHangupStep, worker: 200 * time.Millisecond}
	return r.run(caught)
}
