package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestCapabilitiesTravelInAHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		want  []string // nil: no header
	}{
		{nil, nil},
		{[]string{""}, []string{}},
		{[]string{"keys, stop ,,teleport,keys"}, []string{"stop", "keys"}},
		{[]string{"keys", "stop"}, []string{"stop", "keys"}},
		{[]string{"Stop,ke ys,keys;q=1"}, []string{}},
		{[]string{JoinCapabilities(Capabilities)}, Capabilities},
	} {
		got, err := HeaderCapabilitiesOf(c.lines)
		if err != nil || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%q announces %v (%v), want %v", c.lines, got, err, c.want)
		}
	}
	if n := len(JoinCapabilities(Capabilities)); n > MaxCapabilities/4 {
		t.Errorf("what this version announces has %d bytes: peers that accept %d will soon refuse it", n, MaxCapabilities)
	}
	half := strings.Repeat("x", MaxCapabilities/2)
	for _, lines := range [][]string{{half + half + "x"}, {half, half}, {strings.Repeat(",", MaxCapabilities+1)}} {
		if got, err := HeaderCapabilitiesOf(lines); err == nil || got != nil || !strings.Contains(err.Error(), HeaderCapabilities) {
			t.Errorf("%d lines were read as %v (%v)", len(lines), got, err)
		}
	}
}

func FuzzCapabilities(f *testing.F) {
	f.Add("stop,keys", "")
	f.Add(",,\x00", "stop")
	f.Fuzz(func(t *testing.T, first, second string) {
		header := http.Header{HeaderCapabilities: {first, second}}
		got, err := HeaderCapabilitiesOf(header.Values(HeaderCapabilities))
		if (err == nil) != (len(first)+len(second) < MaxCapabilities) {
			t.Fatalf("%d bytes: %v", len(first)+len(second), err)
		}
		for _, c := range got {
			if !slices.Contains(Capabilities, c) {
				t.Fatalf("%q is no capability", c)
			}
		}
	})
}
