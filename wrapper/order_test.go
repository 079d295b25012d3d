package wrapper

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Progress is ordered by its number: an older one that arrives later would be dropped as stale.
func TestAHookReportsWhatStillWaitsBeforeItsOwn(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, stderr, a := inSession(t, o.URL)
	o.refuseWith(http.StatusServiceUnavailable)
	for _, message := range []string{"one", "two"} {
		if code := Signal([]string{"progress", "--message", message}, std); code != 0 {
			t.Fatalf("%s: exit code %d: %s", message, code, stderr)
		}
	}
	if left := spooled(t, a.Dir); len(left) != 2 {
		t.Fatalf("left in the spool: %v", left)
	}
	before := len(o.signals())
	o.refuseWith(0)
	if code := Signal(strings.Fields("progress --message three"), std); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var got []string
	for _, s := range o.signals()[before:] {
		got = append(got, s.Message)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("posted %q, want %q", got, want)
	}
	if left := spooled(t, a.Dir); len(left) != 0 {
		t.Errorf("left in the spool: %v", left)
	}
}

// TestProgressOfManyHooksAtOnceIsNeverStale lets many hook processes report concurrently. The orchestrator
// drops a progress whose number is not larger than that of the last accepted one.
func TestProgressOfManyHooksAtOnceIsNeverStale(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, _, a := inSession(t, o.URL)
	hook := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"exec", "signal"}, args...)...)
		cmd.Env = append(os.Environ(), std.Env...)
		return cmd
	}
	var want []string
	for round := range 3 {
		var running []*exec.Cmd
		for i := range 6 {
			want = append(want, fmt.Sprintf("%d of round %d", i, round))
			cmd := hook("progress", "--message", want[len(want)-1])
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running = append(running, cmd)
		}
		killed := hook("progress", "--message", "killed")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		_ = killed.Process.Kill()
		_ = killed.Wait()
		for _, cmd := range running {
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want = append(want, "needs you")
	if err := hook("progress", "--needs-input", "--message", "needs you").Run(); err != nil {
		t.Fatal(err)
	}
	var applied []string
	last := int64(0)
	for _, s := range o.signals() {
		if s.Seq > last && s.Message != "killed" {
			applied = append(applied, s.Message)
		}
		last = max(last, s.Seq)
	}
	if got := applied[len(applied)-1]; got != "needs you" {
		t.Errorf("the last progress is %q", got)
	}
	slices.Sort(applied)
	slices.Sort(want)
	if !slices.Equal(applied, want) {
		t.Errorf("applied %q\nwant    %q", applied, want)
	}
	if left := spooled(t, a.Dir); len(left) != 0 {
		t.Errorf("left in the spool: %v", left)
	}
}
