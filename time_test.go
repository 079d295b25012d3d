package svc_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
)

func TestTimeIsWrittenInUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	for at, want := range map[svc.Time]string{
		0:                 `"1970-01-01T00:00:00.000Z"`,
		1_763_240_000_120: `"2025-11-15T20:53:20.120Z"`,
		-1:                `"1969-12-31T23:59:59.999Z"`,
	} {
		if got, err := json.Marshal(at); err != nil || string(got) != want {
			t.Errorf("%d is written %s (%v), want %s", int64(at), got, err, want)
		}
	}
}

func TestTimeIsReadWithOrWithoutFractions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]svc.Time{
		"2025-11-15T20:53:20Z":           1_763_240_000_000,
		"2025-11-15T20:53:20.1Z":         1_763_240_000_100,
		"2025-11-15T20:53:20.123456789Z": 1_763_240_000_123,
		"2025-11-15T21:53:20+01:00":      1_763_240_000_000,
	} {
		var got svc.Time
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %d (%v), want %d", text, int64(got), err, int64(want))
		}
	}
	for _, text := range []string{"", "now", "2025-11-15", "2025-11-15T20:53:20", "1763240000", "2025-13-15T20:53:20Z",
		"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00"} {
		got := svc.Time(7)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 7 {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestTimeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()
	rapid.Check(t, func(t *rapid.T) {
		at := svc.Time(rapid.Int64Range(first, last).Draw(t, "at"))
		var got svc.Time
		if err := got.UnmarshalText([]byte(at.String())); err != nil || got != at {
			t.Fatalf("%d came back from %s as %d (%v)", int64(at), at, int64(got), err)
		}
		if at.Std().UnixMilli() != int64(at) || svc.TimeOf(at.Std()) != at || at.Add(time.Second).Sub(at) != time.Second {
			t.Fatalf("%s does not convert or add up", at)
		}
	})
}

func TestATimeFarAwayIsStillAhead(t *testing.T) {
	t.Parallel()
	now := svc.TimeOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if ahead, ago := svc.HeldUntil.Sub(now), now.Sub(svc.HeldUntil); ahead < 200*365*24*time.Hour || ago > -200*365*24*time.Hour {
		t.Errorf("%s is %v ahead of %s, and that %v ago", svc.HeldUntil, ahead, now, ago)
	}
}
