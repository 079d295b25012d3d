package proctest

import (
	"os"
	"path/filepath"
	"testing"
)

// raceOptions returns the variable for processes that are built with the race detector. Each process writes the
// detector's reports to a file of the lab, because the exit code of a process that is killed, or that no test waits
// for, cannot report them. It also switches off the detector's wait of a second at the end of a process.
func (l *Lab) raceOptions() string {
	return "GORACE=atexit_sleep_ms=0 log_path=" + filepath.Join(l.Dir, "data-race")
}

// wantNoRaces fails the test for each process of the lab in which the race detector found a race.
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
