package needtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc/internal/needtest"
)

// spy is a testing.TB that records how the test ended.
type spy struct {
	testing.TB
	end string
}

func (*spy) Helper() {}

func (s *spy) Fatalf(format string, args ...any) { s.ends("failed: "+format, args...) }

func (s *spy) Skipf(format string, args ...any) { s.ends("skipped: "+format, args...) }

func (s *spy) ends(format string, args ...any) {
	s.end = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome returns how a test ends that needs a program.
func outcome(need func(testing.TB, string) string, program string) string {
	s, done := &spy{}, make(chan struct{})
	go func() {
		defer close(done)
		s.end = need(s, program)
	}()
	<-done
	return s.end
}

// Not parallel: it sets the environment.
func TestWhatBecomesOfATestWithoutItsProgram(t *testing.T) {
	const none = "svc-no-such-program"
	for _, c := range []struct {
		ci, program string
		need        func(testing.TB, string) string
		want        string
	}{
		{"", "sh", needtest.Program, "/"},
		{"", "sh", needtest.Extra, "/"},
		{"true", "sh", needtest.Extra, "/"},
		{"", none, needtest.Program, "failed: " + none},
		{"true", none, needtest.Program, "failed: " + none},
		{"", none, needtest.Extra, "skipped: " + none},
		{"true", none, needtest.Extra, map[bool]string{true: "failed: ", false: "skipped: "}[runtime.GOOS == "linux"] + none},
	} {
		t.Setenv("CI", c.ci)
		if got := outcome(c.need, c.program); !strings.HasPrefix(got, c.want) {
			t.Errorf("with CI=%q, %s: %q, want %q", c.ci, c.program, got, c.want)
		}
	}
}
