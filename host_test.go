package svc_test

import (
	"slices"
	"testing"

	"svc"
)

func TestBeat(t *testing.T) {
	t.Parallel()
	mine, other := "mine", "other"
	fresh, old := ptr(now-1), ptr(now-2)
	for _, c := range []struct {
		name     string
		host     svc.Host
		instance string
		status   svc.HostStatus
		pinned   string
		suspect  bool
		topics   []svc.Topic
	}{
		{"the first heartbeat pins and brings it online", svc.Host{Status: svc.HostRegistered}, mine,
			svc.HostOnline, mine, false, []svc.Topic{svc.TopicWorkerRegistered}},
		{"a further one changes nothing", svc.Host{Status: svc.HostOnline, InstanceID: &mine, LastSeenAt: fresh}, mine,
			svc.HostOnline, mine, false, nil},
		{"an offline host comes back", svc.Host{Status: svc.HostOffline, InstanceID: &mine, LastSeenAt: old, OfflineSince: fresh}, mine,
			svc.HostOnline, mine, false, []svc.Topic{svc.TopicWorkerRegistered}},
		{"a disabled host stays disabled", svc.Host{Status: svc.HostDisabled, InstanceID: &mine, LastSeenAt: old}, mine,
			svc.HostDisabled, mine, false, nil},
		{"a host disabled before it ever came stays disabled", svc.Host{Status: svc.HostDisabled}, mine,
			svc.HostDisabled, mine, false, nil},
		{"another instance at the edge of the window is suspect", svc.Host{Status: svc.HostOnline, InstanceID: &mine, LastSeenAt: fresh}, other,
			svc.HostOnline, mine, true, []svc.Topic{svc.TopicWorkerSuspect}},
		{"suspicion is journaled once", svc.Host{Status: svc.HostOnline, InstanceID: &mine, LastSeenAt: fresh, InstanceSuspect: true}, other,
			svc.HostOnline, mine, true, nil},
		{"the pinned one does not clear a suspicion", svc.Host{Status: svc.HostOnline, InstanceID: &mine, LastSeenAt: fresh, InstanceSuspect: true, SuspectInstanceID: &other}, mine,
			svc.HostOnline, mine, true, nil},
		{"another instance past the window is a reinstall", svc.Host{Status: svc.HostOffline, InstanceID: &mine, LastSeenAt: old}, other,
			svc.HostOnline, other, false, []svc.Topic{svc.TopicWorkerReinstalled, svc.TopicWorkerRegistered}},
		{"also before the silence was noticed", svc.Host{Status: svc.HostOnline, InstanceID: &mine, LastSeenAt: old}, other,
			svc.HostOnline, other, false, []svc.Topic{svc.TopicWorkerReinstalled}},
		{"also when it is disabled", svc.Host{Status: svc.HostDisabled, InstanceID: &mine, LastSeenAt: old}, other,
			svc.HostDisabled, other, false, []svc.Topic{svc.TopicWorkerReinstalled}},
		{"a suspect on a disabled host", svc.Host{Status: svc.HostDisabled, InstanceID: &mine, LastSeenAt: fresh}, other,
			svc.HostDisabled, mine, true, []svc.Topic{svc.TopicWorkerSuspect}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := c.host
			topics := h.Beat(c.instance, now, c.host.LastSeenAt == fresh)
			if h.Status != c.status || *h.InstanceID != c.pinned || h.InstanceSuspect != c.suspect || !slices.Equal(topics, c.topics) {
				t.Errorf("%s, pinned %s, suspect %v, %v", h.Status, *h.InstanceID, h.InstanceSuspect, topics)
			}
			if *h.LastSeenAt != now {
				t.Errorf("last seen at %v, want every heartbeat to count", *h.LastSeenAt)
			}
			if h.Status == svc.HostOnline && c.host.Status != svc.HostOnline && h.OfflineSince != nil {
				t.Error("an online host is offline since a time")
			}
			if c.suspect != (h.SuspectInstanceID != nil) || c.suspect && *h.SuspectInstanceID != other {
				t.Errorf("the suspect is %v", h.SuspectInstanceID)
			}
		})
	}
}

func TestDispatchable(t *testing.T) {
	t.Parallel()
	for _, s := range hostStatuses {
		h := svc.Host{Status: svc.HostStatus(s)}
		if got := h.Dispatchable(); got != (s == "online") {
			t.Errorf("%s: %v", s, got)
		}
		h.InstanceSuspect = true
		if h.Dispatchable() {
			t.Errorf("%s and suspect is dispatchable", s)
		}
	}
}
