package wrapper

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Progress is ordered by its number: an older one that comes later would be dropped as stale.
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
