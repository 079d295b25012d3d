package proctest

import (
	"os"
	"path/filepath"
	"testing"
)

// raceOptions is for processes that are built with the race detector. Each writes what the detector finds to a file of the lab: a
// process that is killed, or that nobody waits for, has no exit code that would tell. None waits a second before it ends.
func (l *Lab) raceOptions() string {
	return "GORACE=atexit_sleep_ms=0 log_path=" + filepath.Join(l.Dir, "data-race")
}

// wantNoRaces fails the test for each process of the lab in which the race detector found something.
func (l *Lab) wantNoRaces(tb testing.TB) {
	tb.Helper()
	reports, err := filepath.Glob(filepath.Join(l.Dir, "data-race.*"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range reports {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Errorf("a data race in a process of the lab:\n%s", text)
	}
}
