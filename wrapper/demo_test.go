package wrapper

import (
	"slices"
	"strings"
	"testing"
)

func TestTheDemoReportsLikeAHookAndEndsAsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args  string
		stdin string
		code  int
		want  []string
		says  string
	}{
		{"--delay 0 --lines 2 -- build me a shed", "", 0, []string{"progress", "progress", "completed"}, "build me a shed"},
		{"--delay 0 --lines 1 --exit 4", "", 4, []string{"progress", "completed"}, "Done."},
		{"--delay 0 --lines 0 --sleep 1ms --fail-hook broken", "", 0, []string{"failed"}, "broken"},
		{"--delay 0 --lines 1 --ask", "\n", 0, []string{"progress", "progress", "progress", "completed"}, "Press Enter"},
	} {
		o := newOrchestrator(t)
		std, stderr, _ := inSession(t, o.URL)
		std.Stdin = strings.NewReader(tt.stdin)
		if code := Demo(strings.Fields(tt.args), std); code != tt.code {
			t.Errorf("%s: exit code %d: %s", tt.args, code, stderr)
		}
		got := o.signals()
		if !slices.Equal(kinds(got), tt.want) {
			t.Errorf("%s: reported %v", tt.args, kinds(got))
		}
		if out := std.Stdout.(*strings.Builder).String(); !strings.Contains(out, tt.says) {
			t.Errorf("%s: said %q", tt.args, out)
		}
		if tt.stdin != "" && !got[1].NeedsInput || tt.stdin != "" && got[2].NeedsInput {
			t.Errorf("%s: the question was %+v, after it %+v", tt.args, got[1], got[2])
		}
	}
}

func TestTheDemoRunsOutsideASessionToo(t *testing.T) {
	t.Parallel()
	var out, stderr strings.Builder
	if code := Demo([]string{"--delay", "0"}, IO{Stdout: &out, Stderr: &stderr}); code != 0 || stderr.Len() != 0 || out.Len() == 0 {
		t.Errorf("exit code %d: %q, %q", code, &out, &stderr)
	}
	for _, bad := range []string{"--exit 256", "--lines -1", "--what"} {
		if code := Demo(strings.Fields(bad), IO{Stdout: &out, Stderr: &stderr}); code != exitUsage {
			t.Errorf("%s: exit code %d", bad, code)
		}
	}
}
