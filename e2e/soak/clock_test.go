package soak

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/proctest"
)

// clockEnv names the environment variable with the path of a file. A process of a soak reads from that
// file by how many seconds its clock is wrong.
const clockEnv = "SVC_SOAK_CLOCK"

// wrongClock is added to the package time of the standard library. A static program reads the time from
// the kernel without a call that a test could intercept, and a test must not set the machine's clock.
// Therefore the binary of a soak is built with a time.Now whose wall clock can be moved from outside. The
// monotonic clock is not affected, as when a real clock jumps.
const wrongClock = `package time

import (
	"sync/atomic"
	"syscall"
)

var soakSeconds atomic.Int64

// init reads the offset again and again beside the program: Now itself may be called where no file can
// be read.
func init() {
	if path, ok := syscall.Getenv("` + clockEnv + `"); ok {
		go func() {
			for {
				soakSeconds.Store(soakRead(path))
				Sleep(50 * Millisecond)
			}
		}()
	}
}

func soakRead(path string) int64 {
	fd, err := open(path)
	if err != nil {
		return 0
	}
	var text [24]byte
	n, _ := read(fd, text[:])
	closefd(fd)
	var seconds, sign int64 = 0, 1
	for i := 0; i < n; i++ {
		switch c := text[i]; {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9':
			seconds = 10*seconds + int64(c-'0')
		}
	}
	return sign * seconds
}
`

// useWrongClock builds a binary whose clock can be moved, and makes the labs use it. It returns false, and does
// nothing, if the environment names another binary.
func useWrongClock(t *testing.T) bool {
	t.Helper()
	if os.Getenv(proctest.BinaryEnv) != "" {
		return false
	}
	// The folder is always the same, so that the build cache can be used.
	dir, err := filepath.Abs(filepath.Join("..", "..", ".cache", "soak"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const original = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(text), original) {
		t.Fatalf("time.Now of this Go version has changed; adapt the soak's clock to it")
	}
	changed := strings.Replace(string(text), original, original+"\tsec += soakSeconds.Load()\n", 1)
	overlay := map[string]map[string]string{"Replace": {
		filepath.Join(library, "time.go"):      filepath.Join(dir, "time.go"),
		filepath.Join(library, "soakclock.go"): filepath.Join(dir, "soakclock.go"),
	}}
	description, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"time.go": changed, "soakclock.go": wrongClock, "overlay.json": string(description)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "svc")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "svc/cmd/svc")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with a clock that can be moved: %v\n%s", err, said)
	}
	t.Setenv(proctest.BinaryEnv, binary)
	return true
}

// correctTimes corrects the times of a journal that was written while the clock was moved. A time may match
// more than one position of the clock. came has the time at which a reader received each event, which is
// shortly after the event.
func correctTimes(journal []event, jumps []jump, came map[int64]time.Time) {
	const slack = time.Second // a frozen or busy process reads the clock's new offset late
	for i, e := range journal {
		var right time.Time
		for j, at := range jumps {
			fits := e.At.Add(-at.offset)
			within := !fits.Before(at.at.Add(-slack)) && (j+1 == len(jumps) || fits.Before(jumps[j+1].at.Add(slack)))
			if within && (right.IsZero() || !fits.After(came[e.Seq].Add(slack))) {
				right = fits // the latest matching time that is not after the reader's
			}
		}
		if !right.IsZero() {
			journal[i].At = right
		}
	}
}

func TestTheTimesOfAMovedClockAreSetRight(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	jumps := []jump{{at(0), 0}, {at(100), 10 * time.Second}, {at(120), 0}, {at(200), -time.Hour}, {at(210), 0}}
	for _, c := range []struct{ written, came, want int }{
		{50, 50, 50},
		{115, 105, 105}, // while the clock was ahead
		{121, 112, 111}, // the same, but the corrected clock will soon have this time, too
		{121, 121, 121},
		{205 - 3600, 206, 205},
		{220, 220, 220},
	} {
		journal := []event{{Seq: 7, At: at(c.written)}}
		correctTimes(journal, jumps, map[int64]time.Time{7: at(c.came)})
		if got := journal[0].At; !got.Equal(at(c.want)) {
			t.Errorf("written at %d s and read at %d s: happened at %v, want %d s", c.written, c.came, got.Sub(noon), c.want)
		}
	}
}
