package git

import "testing"

// TestARemoteThatHasNotAnsweredHasNotRefused checks that only an answer of the remote itself is a refusal.
func TestARemoteThatHasNotAnsweredHasNotRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		why     string
		refused bool
	}{
		"!\tc:refs/heads/main\t[remote rejected] (pre-receive hook declined)":     {"pre-receive hook declined", true},
		"!\tc:refs/heads/main\t[rejected] (stale info)":                           {"stale info", true},
		"!\tc:refs/heads/main\t[remote failure] (remote failed to report status)": {},
		" \tc:refs/heads/main\tabc..def":                                          {},
		"fatal: the remote end hung up unexpectedly":                              {},
	} {
		if why, refused := refusal("To x\n" + line + "\nDone\n"); why != want.why || refused != want.refused {
			t.Errorf("%q: %q, %v", line, why, refused)
		}
	}
}
