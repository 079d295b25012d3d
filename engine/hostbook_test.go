package engine

import (
	"slices"
	"testing"
	"time"

	"svc"
)

func TestAnOlderHostNeverReplacesANewerOne(t *testing.T) {
	t.Parallel()
	pinned := map[string]string{}
	b := &hostBook{pin: func(host, instance string) { pinned[host] = instance }, hosts: map[string]hostEntry{}, dirty: map[string]bool{}, linked: func(string) bool { return false }}
	began := time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	written := func(version int64, status svc.HostStatus, instance string, heard int) {
		seen := svc.Time(heard)
		b.written(svc.Host{ID: "h", Version: version, Status: status, InstanceID: &instance, LastSeenAt: &seen}, began, at(heard))
	}
	want := func(when string, status svc.HostStatus, instance string) {
		t.Helper()
		if got := b.hosts["h"]; got.status != status || pinned["h"] != instance {
			t.Errorf("%s: %s with instance %s, want %s with %s", when, got.status, pinned["h"], status, instance)
		}
	}
	// Two changes of a host are committed one after the other, and the first is recorded last.
	written(3, svc.HostDisabled, "new", 20)
	written(2, svc.HostOnline, "old", 10)
	want("told in the wrong order", svc.HostDisabled, "new")
	if got := b.silent(at(30), began, 5*time.Second, svc.HostOffline, svc.HostDisabled); !slices.Equal(got, []string{"h"}) {
		t.Errorf("a disabled host that is silent is not found: %v", got)
	}
	if got := b.silent(at(30), at(26), 5*time.Second, svc.HostOffline, svc.HostDisabled); len(got) > 0 {
		t.Errorf("silence of before we watched counts: %v", got)
	}
	written(4, svc.HostOnline, "newer", 15)
	want("told in the right order", svc.HostOnline, "newer")
	if seen := b.hosts["h"].seen; *seen != 20 {
		t.Errorf("the last heartbeat went back to %v", *seen)
	}
	b.forget("h")
	written(5, svc.HostOnline, "newer", 40)
	if got := b.silent(at(100), began, time.Second, svc.HostOnline, svc.HostOffline, svc.HostDisabled); len(got) != 0 {
		t.Errorf("a deleted host is back: %v", got)
	}
	if b.recordUnchanged("h", "newer", at(50), 50) {
		t.Error("the heartbeat of a deleted host is taken")
	}
}

func TestAHostWhoseConnectionWeKeepWaitingIsNotSilent(t *testing.T) {
	t.Parallel()
	b := &hostBook{pin: func(string, string) {}, hosts: map[string]hostEntry{}, dirty: map[string]bool{}, linked: func(string) bool { return false }}
	began, instance, seen := time.Now(), "i", svc.Time(1)
	b.written(svc.Host{ID: "h", Version: 1, Status: svc.HostOnline, InstanceID: &instance, LastSeenAt: &seen}, began, began)
	now := began.Add(8 * time.Second)
	look := func() time.Time { return now }
	silent := func() bool { return len(b.silent(now, began, 9*time.Second, svc.HostOnline)) > 0 }
	known := b.identifying("h", look)
	// The frames of the connection were unread for three seconds, while the replaced process was probed.
	now = began.Add(11 * time.Second)
	if silent() {
		t.Error("a host is silent whose heartbeats are not read")
	}
	known()
	if now = now.Add(readWithin / 2); silent() {
		t.Error("a host is silent whose heartbeats are being read")
	}
	if now = now.Add(readWithin); !silent() {
		t.Error("a host that sent no heartbeat on its connection is not silent")
	}
}
