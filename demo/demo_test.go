package demo

import (
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/wrapper"
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
		d, err := parse(strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		var got []svc.Signal
		var kinds []string
		code := d.play(func(s svc.Signal) { got, kinds = append(got, s), append(kinds, string(s.Kind)) }, wrapper.IO{Stdin: strings.NewReader(tt.stdin), Stdout: &out})
		if code != tt.code {
			t.Errorf("%s: exit code %d", tt.args, code)
		}
		if !slices.Equal(kinds, tt.want) {
			t.Errorf("%s: reported %v", tt.args, kinds)
		}
		if !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: said %q", tt.args, &out)
		}
		if tt.stdin != "" && !got[1].NeedsInput || tt.stdin != "" && got[2].NeedsInput {
			t.Errorf("%s: the question was %+v, after it %+v", tt.args, got[1], got[2])
		}
	}
}

func TestTheDemoRunsOutsideASessionToo(t *testing.T) {
	t.Parallel()
	var out, stderr strings.Builder
	if code := Run([]string{"--delay", "0"}, wrapper.IO{Stdout: &out, Stderr: &stderr}); code != 0 || stderr.Len() != 0 || out.Len() == 0 {
		t.Errorf("exit code %d: %q, %q", code, &out, &stderr)
	}
	for _, bad := range []string{"--exit 256", "--lines -1", "--what"} {
		if code := Run(strings.Fields(bad), wrapper.IO{Stdout: &out, Stderr: &stderr}); code != exitUsage {
			t.Errorf("%s: exit code %d", bad, code)
		}
	}
}
