// Package live tests the output and input of terminals, with the real binary, real tmux and real
// programs: a run's log has every byte that its terminal received, screens and the last screen are
// kept, many viewers share a terminal without changing it, and input reaches the program unchanged
// and has no other effect.
//
// The programs in the terminals are this test binary itself (see program_test.go), so each byte of
// their output is known. Each test has a short variant that always runs. SVC_TEST_LONG=1 enables
// more rounds and longer waits.
package live

import (
	"os"
	"testing"

	"svc/internal/proctest"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(programEnv); name != "" {
		os.Exit(runProgram(name, os.Args[1:]))
	}
	os.Exit(proctest.Main(m))
}

// shortOrLong returns the short value, or the long value if the long variants are enabled.
func shortOrLong[T any](short, long T) T {
	if proctest.Long() {
		return long
	}
	return short
}
