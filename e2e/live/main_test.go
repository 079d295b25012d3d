// Package live tests what a person sees and types, with the real binary, real tmux and real
// programs: that a run's log has every byte its terminal got, that screens and their last state are
// kept, that many viewers share a terminal without changing it, and that what is typed reaches the
// program as it was typed and does nothing else.
//
// The programs that run in the terminals are this test binary itself (see program_test.go), so what
// they write is known to the byte. Each test has a short variant that always runs; more rounds and
// longer silences are behind SVC_TEST_LONG=1.
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

// either is the short value, or the long one when the long variants run.
func either[T any](short, long T) T {
	if proctest.Long() {
		return long
	}
	return short
}
