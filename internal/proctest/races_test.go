package proctest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// racyEnv makes this test binary a process with a data race, which is killed before its exit code can report it.
const racyEnv = "PROCTEST_RACY"

// recorder is a testing.TB that records failures and continues.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, _ ...any) { r.said = append(r.said, format) }

func TestARaceInAKilledProcessFailsTheTest(t *testing.T) {
	if os.Getenv(racyEnv) != "" {
		race()
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal(self.Kill())
	}
	t.Parallel()
	if !raceDetector {
		t.Skip("only a binary with the race detector reports races; scripts/go-race makes one")
	}
	lab := &Lab{TB: t, Dir: t.TempDir()}
	told := &recorder{TB: t}
	if lab.wantNoRaces(told); len(told.said) != 0 {
		t.Errorf("before anything ran: %q", told.said)
	}
	self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	self.Env = lab.environ(racyEnv + "=1")
	if said, err := self.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the racy process ended with %v:\n%s", err, said)
	}
	if lab.wantNoRaces(told); len(told.said) != 1 {
		t.Errorf("after a race: %q", told.said)
	}
}

// race writes one variable from two goroutines.
func race() {
	var shared int
	done := make(chan struct{})
	go func() {
		shared++
		close(done)
	}()
	shared++
	<-done
}
