package engine

import (
	"slices"
	"testing"

	"svc"
)

func TestAnOlderHostNeverReplacesANewerOne(t *testing.T) {
	t.Parallel()
	pinned := map[string]string{}
	b := &hostBook{pin: func(host, instance string) { pinned[host] = instance }, hosts: map[string]hostEntry{}, dirty: map[string]svc.Time{}}
	host := func(version int64, status svc.HostStatus, instance string, seen svc.Time) svc.Host {
		return svc.Host{ID: "h", Version: version, Status: status, InstanceID: &instance, LastSeenAt: &seen}
	}
	want := func(when string, status svc.HostStatus, instance string) {
		t.Helper()
		if got := b.hosts["h"]; got.status != status || pinned["h"] != instance {
			t.Errorf("%s: %s with instance %s, want %s with %s", when, got.status, pinned["h"], status, instance)
		}
	}
	// Two change a host, one after the other, and the first is slow to tell of it.
	b.written(host(3, svc.HostDisabled, "new", 20))
	b.written(host(2, svc.HostOnline, "old", 10))
	want("told in the wrong order", svc.HostDisabled, "new")
	if got := b.silent(30, svc.HostOffline, svc.HostDisabled); !slices.Equal(got, []string{"h"}) {
		t.Errorf("a disabled host that is silent is not found: %v", got)
	}
	b.written(host(4, svc.HostOnline, "newer", 15))
	want("told in the right order", svc.HostOnline, "newer")
	if seen := b.hosts["h"].seen; *seen != 20 {
		t.Errorf("the last heartbeat went back to %v", *seen)
	}
	b.forget("h")
	b.written(host(5, svc.HostOnline, "newer", 40))
	if got := b.silent(100, svc.HostOnline, svc.HostOffline, svc.HostDisabled); len(got) != 0 {
		t.Errorf("a deleted host is back: %v", got)
	}
	if b.quiet("h", "newer", 50) {
		t.Error("the heartbeat of a deleted host is taken")
	}
}
