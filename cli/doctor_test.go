package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
)

func TestTheDoctorJudgesTheDataDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open, file := filepath.Join(dir, "open"), filepath.Join(dir, "file")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: fine, filepath.Join(dir, "new"): fine, open: warning, file: broken} {
		if got := checkDataDir(path); got.Verdict != want || want != fine && got.Fix == "" {
			t.Errorf("%s: %+v, want %s with a fix unless it is fine", path, got, want)
		}
	}
}

func TestTheDoctorNoticesAWrongClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for skew, want := range map[time.Duration]string{0: fine, 2 * time.Second: fine, time.Hour: warning, -time.Hour: warning} {
		if got := checkClock(now, now.Add(skew)); got.Verdict != want {
			t.Errorf("%s off: %+v, want %s", skew, got, want)
		}
	}
}

// doctor returns an app whose clock does not move.
var doctor = &app{now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}

func TestTheDoctorNoticesTheWrongClockOfAHost(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[int64]string{2000: fine, 3_600_000: warning, -3_600_000: warning} {
		h := svc.Host{Name: "h", Status: svc.HostOnline, Connected: true, WorkerVersion: Version(), ClockAheadMS: &ahead}
		if got := doctor.checkHost(h); got.Verdict != want || want == warning && (got.Fix == "" || !strings.Contains(got.Found, "1h0m0s")) {
			t.Errorf("%d ms ahead: %+v, want %s", ahead, got, want)
		}
	}
}

func TestTheDoctorComparesVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"the same":     {fmt.Sprintf(`{"info":{"version":%q}}`, Version()), fine},
		"another":      {`{"info":{"version":"0.0.1"}}`, warning},
		"none":         {`{}`, warning},
		"not our kind": {`hello`, warning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.body) }))
			defer server.Close()
			if got := checkVersion(t.Context(), server.URL); got.Verdict != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

func TestTheDoctorNamesTheWorstOfAHost(t *testing.T) {
	t.Parallel()
	host := func(change func(*svc.Host)) svc.Host {
		h := svc.Host{Name: "h", Status: svc.HostOnline, Connected: true, WorkerVersion: Version()}
		change(&h)
		return h
	}
	for want, h := range map[string]svc.Host{
		"online, 0 runs": host(func(*svc.Host) {}),
		"offline":        host(func(h *svc.Host) { h.Status = svc.HostOffline }),
		"online, not connected for 12s": host(func(h *svc.Host) {
			since := svc.TimeOf(doctor.now().Add(-12 * time.Second))
			h.Connected, h.DisconnectedSince = false, &since
		}),
		"disabled":                   host(func(h *svc.Host) { h.Status = svc.HostDisabled }),
		"two workers claim to be it": host(func(h *svc.Host) { h.Status, h.InstanceSuspect = svc.HostOffline, true }),
	} {
		if got := doctor.checkHost(h); got.Found != want {
			t.Errorf("found %q, want %q", got.Found, want)
		}
	}
	if got := doctor.checkHost(host(func(h *svc.Host) { h.WorkerVersion = "0.0.1" })); got.Verdict != warning {
		t.Errorf("another version is %+v", got)
	}
}

func TestWhyNotSaysSomethingOfEveryReason(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, why := range []string{"other_host_pinned", "never_seen", "offline", "disabled", "suspect", "cooling_down", "not_connected", "refused", "full", "unconfirmed", "provider_missing", "eligible"} {
		text := whyNot(why)
		if text == "" || seen[text] {
			t.Errorf("%s is explained as %q, like another reason", why, text)
		}
		seen[text] = true
	}
}
