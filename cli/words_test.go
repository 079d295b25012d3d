package cli

import (
	"os/exec"
	"testing"

	"pgregory.net/rapid"

	"svc"
)

func TestIsSystemReadsOSRelease(t *testing.T) {
	t.Parallel()
	const release = "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"
	for system, want := range map[string]bool{"debian": true, "ubuntu": true, "linuxmint": true, "mint": false, "arch": false} {
		if got := isSystem(release, system); got != want {
			t.Errorf("isSystem(%q) = %v, want %v", system, got, want)
		}
	}
}

// A shell reads a quoted word as the original text.
func TestShellQuoteIsOneWordOfAShell(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z '"$\\;&|*\n-]{0,12}`).Draw(t, "word")
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Fatalf("a shell reads %q as %q (%v)", word, out, err)
		}
	})
}

func TestEndingTellsHowARunEnded(t *testing.T) {
	t.Parallel()
	code, text, reason := 3, "out of ideas", svc.ReasonNoEligibleHost
	partial, why := svc.ResultPartialSuccess, "half of it"
	began, ended := svc.Time(1_000), svc.Time(63_400)
	for want, r := range map[string]svc.Run{
		"failed with code 3": {Status: svc.RunFailed, ExitCode: &code},
		"failed: no host was there to take it (no_eligible_host)": {Status: svc.RunFailed, FailureReason: &reason},
		"failed: out of ideas": {Status: svc.RunFailed, Error: &text, ExitCode: &code},
		"stopped after 1m2.4s": {Status: svc.RunStopped, ExitCode: &code, StartedAt: &began, EndedAt: &ended},
		"exited with code 3, result partial_success: half of it after 1m2.4s": {Status: svc.RunExited, ExitCode: &code, Result: &partial, ResultReason: &why, StartedAt: &began, EndedAt: &ended},
	} {
		if got := ending(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhyARunWaitsIsTold(t *testing.T) {
	t.Parallel()
	hosts := func(reasons ...string) (list []svc.HostWithheld) {
		for _, why := range reasons {
			list = append(list, svc.HostWithheld{Why: why})
		}
		return list
	}
	r := svc.Run{HostLabels: map[string]string{"gpu": "yes"}}
	for want, w := range map[string]*svc.Waiting{
		"it was just placed": nil,
		"there is no host":   {},
		"which host could take it is known to an orchestrator that cannot be reached now": {HostsTotal: 3},
		"1 host: labels missing (gpu=yes), 2 hosts: full":                                 {Hosts: hosts("full", "labels_missing", "full"), HostsTotal: 3},
		"2 hosts: full, 998 hosts more":                                                   {Hosts: hosts("full", "full"), HostsTotal: 1000},
		"a; b":                                                                            {Why: []svc.Hold{{Message: "a"}, {Message: "b"}}, HostsTotal: 1},
	} {
		if got := whyWaits(r, w); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSucceededNeedsAGoodEndAndNoRejection(t *testing.T) {
	t.Parallel()
	rejected, partial := svc.ResultUserRejected, svc.ResultPartialSuccess
	for _, c := range []struct {
		run  svc.Run
		want bool
	}{
		{svc.Run{Status: svc.RunExited}, true},
		{svc.Run{Status: svc.RunExited, Result: &partial}, true},
		{svc.Run{Status: svc.RunExited, Result: &rejected}, false},
		{svc.Run{Status: svc.RunFailed}, false},
		{svc.Run{Status: svc.RunStopped}, false},
	} {
		if got := succeeded(c.run); got != c.want {
			t.Errorf("%s with result %v: %v, want %v", c.run.Status, c.run.Result, got, c.want)
		}
	}
}
