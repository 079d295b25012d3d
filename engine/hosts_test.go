package engine

import (
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/wire"
)

func (w *worker) want(status svc.HostStatus) svc.Host {
	w.s.t.Helper()
	w.s.settle()
	h, err := w.s.Host(w.s.ctx, w.host.ID)
	w.s.no(err)
	if h.Status != status {
		w.s.t.Errorf("%s is %s, want %s", w.host.Name, h.Status, status)
	}
	return h
}

func TestLivenessOfAHost(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		s.wantTopics(svc.TopicHostCreated)
		w.register()
		w.connect()
		s.pass(6 * time.Minute)
		if h := w.want(svc.HostRegistered); h.LastSeenAt != nil || h.Platform != "test" {
			t.Errorf("a registration is no heartbeat: %+v", h)
		}
		s.wantTopics()
		w.connect() // a plain peer is not kept that long
		for range 5 {
			w.beat()
			s.pass(30 * time.Second)
		}
		s.wantTopics(svc.TopicWorkerRegistered)
		if h := w.want(svc.HostOnline); s.now().Sub(*h.LastSeenAt) != 30*time.Second {
			t.Errorf("last seen %v ago", s.now().Sub(*h.LastSeenAt))
		}
		s.pass(60 * time.Second) // 90 s after the last one
		w.want(svc.HostOnline)
		s.pass(2 * time.Second)
		w.want(svc.HostOffline) // although the uplink is open
		s.pass(6 * time.Minute)
		s.wantTopics(svc.TopicWorkerOffline)
		w.beat()
		w.want(svc.HostOnline)
		s.wantTopics(svc.TopicWorkerRegistered)
		w.drop()
		s.pass(time.Minute)
		w.want(svc.HostOnline) // a closed connection alone changes nothing
		w.connect()
		w.beat()
		s.pass(time.Minute)
		s.wantTopics(svc.TopicWorkerGone, svc.TopicWorkerConnected)
	})
}

func TestAHostsClockIsToldWhenItIsOff(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		for _, c := range []struct{ ahead, told int64 }{{0, 0}, {999, 0}, {-1000, -1000}, {3_600_000, 3_600_000}, {-3_600_000, -3_600_000}, {5, 0}} {
			w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: s.now() + svc.Time(c.ahead)})
			if h := w.want(svc.HostOnline); value(h.ClockAheadMS) != c.told {
				t.Errorf("%d ms ahead is told as %d", c.ahead, value(h.ClockAheadMS))
			}
		}
	})
}

func TestAHostThatCoolsDownIsGivenNoRunsAndSaysWhy(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		why := &svc.HostRefusal{Code: svc.RefusalCoolingDown, Message: "no folder for sockets", Until: s.now() + 30_000}
		w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: s.now(), Refusing: why})
		if h := w.want(svc.HostOnline); h.Refusing == nil || h.Refusing.Message != why.Message {
			t.Errorf("refusing %+v, want %+v", h.Refusing, why)
		}
		r := s.run()
		s.pass(2 * time.Second)
		s.wantStatus(r, svc.RunPending)
		d, err := s.RunDetail(s.ctx, r.ID)
		if err != nil || len(d.Waiting.Hosts) != 1 || d.Waiting.Hosts[0].Why != "cooling_down" {
			t.Errorf("waiting %+v, %v", d.Waiting, err)
		}
		w.beat()
		s.wantStatus(r, svc.RunSpawning)
		if h := w.want(svc.HostOnline); h.Refusing != nil {
			t.Errorf("refusing %+v, want nothing", h.Refusing)
		}
	})
}

func TestSilenceOfOurOwnIsNotHeldAgainstAHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		w.drop()
		s.stop()
		clocktest.Pass(time.Hour)
		s = start(t, dir)
		w.s = s
		s.pass(89 * time.Second)
		w.want(svc.HostOnline)
		s.pass(3 * time.Second)
		w.want(svc.HostOffline)
		s.wantTopics(svc.TopicWorkerGone, svc.TopicWorkerOffline)
	})
}

func TestDisabledIsSticky(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		disable := func() { _, err := s.DisableHost(s.ctx, "h"); s.no(err) }
		enable := func(want svc.HostStatus) {
			t.Helper()
			h, err := s.EnableHost(s.ctx, "h")
			if err != nil || h.Status != want {
				t.Errorf("enabled to %s (%v), want %s", h.Status, err, want)
			}
		}
		disable()
		disable()
		s.wantTopics(svc.TopicHostUpdated)
		waiting := s.run()
		w.beat()
		h := w.want(svc.HostDisabled)
		if *h.LastSeenAt != s.now() {
			t.Error("a heartbeat of a disabled host was not noted")
		}
		w.send(wire.Snapshot{RunID: r.ID, Capture: "screen", Timestamp: 1})
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1)))
		w.wantFrames() // nothing is stopped and nothing is dispatched
		s.wantStatus(waiting, svc.RunPending)
		s.news()
		enable(svc.HostOnline)
		w.wantFrames("run_dispatch 1")
		s.wantTopics(svc.TopicWorkerRegistered, svc.TopicRunSpawning)
		enable(svc.HostOnline) // it is not disabled: nothing changes
		s.wantTopics()

		disable()
		s.pass(2 * time.Minute)
		w.want(svc.HostDisabled)
		s.wantTopics(svc.TopicHostUpdated) // no worker.offline
		enable(svc.HostOffline)
		w.beat()
		w.want(svc.HostOnline)
		s.wantTopics(svc.TopicHostUpdated, svc.TopicWorkerRegistered)
	})
}

func TestAPatchThatChangesNothingIsNoChange(t *testing.T) {
	bubble(t, func(s *site) {
		two := 2
		h := s.newHost("h", func(n *svc.NewHost) { n.MaxRuns, n.Labels = &two, map[string]string{"gpu": "yes"} }).host
		s.news()
		same, labels := "h", map[string]string{"gpu": "yes"}
		for what, patch := range map[string]svc.HostPatch{
			"no field":        {},
			"the same name":   {Name: &same},
			"the same labels": {Labels: &labels},
			"the same limit":  {MaxRuns: &svc.MaxRunsChange{Max: &two}},
		} {
			got, err := s.UpdateHost(s.ctx, "h", patch, nil)
			if err != nil || got.Version != h.Version || got.UpdatedAt != h.UpdatedAt {
				t.Errorf("%s moved the version from %d to %d (%v)", what, h.Version, got.Version, err)
			}
		}
		s.wantTopics()
		got, err := s.UpdateHost(s.ctx, "h", svc.HostPatch{MaxRuns: &svc.MaxRunsChange{}}, nil)
		if err != nil || got.Version != h.Version+1 || got.MaxRuns != nil {
			t.Errorf("lifting the limit: %+v (%v)", got, err)
		}
		s.wantTopics(svc.TopicHostUpdated)
	})
}

func TestHostDisabledBeforeItCame(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		_, err := s.DisableHost(s.ctx, "h")
		s.no(err)
		w.register()
		w.connect()
		h, err := s.EnableHost(s.ctx, "h")
		if err != nil || h.Status != svc.HostOffline {
			t.Errorf("never seen, enabled to %s (%v)", h.Status, err)
		}
		_, err = s.DisableHost(s.ctx, "h")
		s.no(err)
		w.beat()
		w.want(svc.HostDisabled)
	})
}

func TestSuspectInstance(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		running := w.started(s.run())
		clone := &worker{s: s, host: w.host, instance: svc.NewID()}
		clone.connect()
		s.pass(time.Second)
		clone.beat()
		h := w.want(svc.HostOnline)
		if !h.InstanceSuspect || *h.InstanceID != w.instance || *h.SuspectInstanceID != clone.instance || *h.LastSeenAt != s.now() {
			t.Errorf("a second instance within the window: %+v", h)
		}
		clone.beat()
		w.beat()
		s.wantTopics(svc.TopicWorkerSuspect) // once
		waiting := s.run(on(w))
		s.wantStatus(waiting, svc.RunPending)
		w.wantFrames()
		clone.wantFrames()
		s.wantStatus(running, svc.RunRunning)
		_, err := s.DisableHost(s.ctx, "h")
		s.no(err)
		h, err = s.EnableHost(s.ctx, "h")
		if err != nil || !h.InstanceSuspect {
			t.Errorf("disable and enable cleared the suspicion (%v)", err)
		}
		s.news()
		h, err = s.ClearSuspect(s.ctx, "h")
		if err != nil || h.InstanceSuspect || *h.InstanceID != clone.instance || h.SuspectInstanceID != nil {
			t.Errorf("cleared to %+v (%v)", h, err)
		}
		clone.wantFrames("run_dispatch 1")
		w.wantFrames()
		s.wantTopics(svc.TopicHostUpdated, svc.TopicRunSpawning)
		w.beat() // now the other one is the copy
		s.wantTopics(svc.TopicWorkerSuspect)
	})
}

func TestReinstalledInstance(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.drop()
		s.pass(2 * time.Minute)
		s.news()
		fresh := &worker{s: s, host: w.host, instance: svc.NewID()}
		fresh.connect()
		fresh.beat()
		if h := w.want(svc.HostOnline); h.InstanceSuspect || *h.InstanceID != fresh.instance {
			t.Errorf("another instance past the window: %+v", h)
		}
		s.wantTopics(svc.TopicWorkerReinstalled, svc.TopicWorkerRegistered)
		s.run()
		fresh.wantFrames("run_dispatch 1")
	})
}

func TestNewestUplinkOfAHostIsItsOwn(t *testing.T) {
	bubble(t, func(s *site) {
		old := s.online("h")
		s.news()
		fresh := &worker{s: s, host: old.host, instance: old.instance}
		fresh.connect()
		fresh.beat()
		s.run()
		fresh.wantFrames("run_dispatch 1")
		old.wantFrames()
		old.drop()
		r := s.run()
		fresh.wantFrames("run_dispatch 1")
		s.wantStatus(r, svc.RunSpawning)
		if h := fresh.want(svc.HostOnline); h.InstanceSuspect {
			t.Error("the same instance is suspect")
		}
	})
}

func TestRegistration(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		s.news()
		reg := wire.Registration{HostName: "h", InstanceID: w.instance, Platform: "linux/amd64", Version: "v1", Capabilities: []string{"keys", "unknown", "stop"}}
		got, err := s.Register(s.ctx, reg, "")
		if err != nil || got.HostID != w.host.ID || got.Status != svc.HostRegistered || len(got.Capabilities) != 2 || got.Capabilities[0] != "stop" {
			t.Errorf("registered as %+v (%v)", got, err)
		}
		for what, c := range map[string]struct {
			change func(*wire.Registration)
			only   string
			code   svc.Code
		}{
			"an unknown name":         {func(r *wire.Registration) { r.HostName = "x" }, "", svc.CodeHostNotFound},
			"a token of another host": {func(*wire.Registration) {}, svc.NewID(), svc.CodeHostNotFound},
			"no name":                 {func(r *wire.Registration) { r.HostName = "" }, "", svc.CodeValidation},
			"no instance":             {func(r *wire.Registration) { r.InstanceID = "" }, "", svc.CodeValidation},
			"a bad instance":          {func(r *wire.Registration) { r.InstanceID = "1" }, "", svc.CodeValidation},
		} {
			bad := reg
			c.change(&bad)
			_, err := s.Register(s.ctx, bad, c.only)
			s.wantCode(what, err, c.code)
		}
		s.wantTopics()
		w.connect()
		w.beat()
		s.settle()
		if got, _ := s.Register(s.ctx, reg, w.host.ID); got.Status != svc.HostOnline {
			t.Errorf("registered again as %s", got.Status)
		}
		if _, err := s.Host(s.ctx, "x"); svc.CodeOf(err) != svc.CodeNotFound {
			t.Errorf("an unknown registration made a host (%v)", err)
		}
		_ = w.conn.Close("")
		s.no(s.DeleteHost(s.ctx, "h", nil))
		_, err = s.Register(s.ctx, reg, "")
		s.wantCode("a deleted host", err, svc.CodeHostNotFound)
	})
}

func TestBrokenFramesEndAConnectionOnlyInARow(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		broken := func(n int) {
			for range n {
				s.no(w.conn.Write(s.ctx, []byte("{")))
			}
		}
		broken(9)
		w.beat()
		broken(9)
		if got := len(w.take()); got != 18 {
			t.Errorf("%d answers to 18 broken frames", got)
		}
		s.no(w.conn.Write(s.ctx, []byte(`{"type":"new_thing"}`)))
		w.wantFrames("error unknown_frame")
		w.beat()
		broken(10)
		<-w.ended
		w.want(svc.HostOnline)
	})
}

func TestTokensAreGoodForOneThingOnly(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.newHost("a"), s.newHost("b")
		ta, err := s.HostToken(s.ctx, "a")
		s.no(err)
		tb, err := s.HostToken(s.ctx, b.host.ID)
		s.no(err)
		if who, err := s.HostOfToken(s.ctx, ta); err != nil || who.Host != a.host.ID || ta == tb {
			t.Errorf("the token of a is good for %q (%v)", who.Host, err)
		}
		for _, bad := range []string{"", "svch_", ta[:len(ta)-1], ta + "0", tb[:37] + ta[37:], s.unboundToken(a.host.ID)} {
			if who, err := s.HostOfToken(s.ctx, bad); svc.CodeOf(err) != svc.CodeUnauthorized {
				t.Errorf("%q is good for %s", bad, who.Host)
			}
		}
		s.no(s.DeleteHost(s.ctx, "a", nil))
		if _, err := s.HostOfToken(s.ctx, ta); err == nil {
			t.Error("the token of a deleted host is good")
		}
	})
}

func TestAHostThatNeverComesBackIsDeletedByForce(t *testing.T) {
	bubble(t, func(s *site) {
		w, other := s.online("h"), s.newHost("other")
		restart := func(n *svc.NewRun) { n.RestartPolicy = svc.RestartOnFailure }
		stopped := w.started(s.run())
		never, again, pinned := w.started(s.run()), w.started(s.run(restart)), w.started(s.run(restart, on(w)))
		spawning := s.run()
		w.wantFrames("run_dispatch 1")
		_, err := s.StopRun(s.ctx, stopped.ID)
		s.no(err)
		w.wantFrames("run_stop 1")
		w.drop()
		s.news()
		err = s.DeleteHost(s.ctx, "h", nil)
		s.wantCode("a delete without force", err, svc.CodeActiveRuns)
		if !strings.Contains(err.Error(), "force=true") {
			t.Errorf("the refusal does not say how: %v", err)
		}
		wrong := int64(99)
		s.wantCode("another version", s.ForceDeleteHost(s.ctx, "h", &wrong), svc.CodePrecondition)
		s.wantTopics()
		s.no(s.ForceDeleteHost(s.ctx, "h", nil))
		s.settle()
		_, err = s.Host(s.ctx, w.host.ID)
		s.wantCode("the host", err, svc.CodeNotFound)
		for _, r := range []svc.Run{never, pinned, spawning} {
			if got := s.wantStatus(r, svc.RunFailed); value(got.FailureReason) != svc.ReasonHostLost || got.SessionEndedAt == nil {
				t.Errorf("lost as %+v", got)
			}
		}
		if got := s.wantStatus(again, svc.RunPending); got.Attempt != 2 {
			t.Errorf("the next attempt is %d", got.Attempt)
		}
		if got := s.wantStatus(stopped, svc.RunStopped); got.SessionEndedAt == nil || got.FailureReason != nil {
			t.Errorf("stopped before, now %+v", got)
		}
		topics := map[svc.Topic]int{}
		for _, e := range s.news() {
			topics[e.Topic]++
		}
		for topic, n := range map[svc.Topic]int{svc.TopicRunFailed: 4, svc.TopicRunRequeued: 1, svc.TopicRunSessionEnded: 1, svc.TopicHostDeleted: 1} {
			if topics[topic] != n {
				t.Errorf("%d × %s, want %d (%v)", topics[topic], topic, n, topics)
			}
		}
		// The next attempt is placed on another host. A worker of the deleted host is refused and gets nothing.
		_, err = s.Register(s.ctx, wire.Registration{HostName: "h", InstanceID: w.instance}, "")
		s.wantCode("its worker", err, svc.CodeHostNotFound)
		w.connect()
		w.beat()
		w.wantFrames("error host_not_found")
		other.register(wire.Capabilities...)
		other.connect()
		other.beat()
		s.pass(10 * time.Second)
		other.wantFrames("run_dispatch 2")
		w.wantFrames("error unavailable") // its connection belongs to no host and is closed
	})
}

// Other writers get their turn between the units that end many runs of a host.
func TestTheRunsOfAHostAreEndedInBoundedUnits(t *testing.T) {
	for name, end := range map[string]func(s *site){
		"by force":       func(s *site) { s.no(s.ForceDeleteHost(s.ctx, "h", nil)) },
		"lost for long":  func(s *site) { s.pass(3 * time.Minute) },
		"not even begun": func(s *site) { s.pass(2 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			begun := name != "not even begun"
			bubble(t, func(s *site) {
				w := s.online("h")
				task := s.task(s.project()).ID
				runs := make([]svc.Run, 2*giveUpUnit+3)
				for i := range runs {
					runs[i] = s.run(func(n *svc.NewRun) {
						n.TaskID = task
						if !begun {
							n.RestartPolicy = svc.RestartOnFailure
						}
					})
				}
				s.settle()
				for _, r := range runs {
					if begun {
						w.started(r)
					}
				}
				w.drop()
				var heads []int64 // seq after each commit
				s.Store.ObserveCommits(func(time.Duration) {
					head, _, err := s.Store.JournalEnds(s.ctx)
					s.no(err)
					heads = append(heads, head)
				})
				end(s)
				s.settle()
				s.Store.ObserveCommits(func(time.Duration) {})
				most := 0
				for i := range len(heads) - 1 {
					events, err := s.Store.EventsAfter(s.ctx, heads[i], int(heads[i+1]-heads[i]))
					s.no(err)
					n := 0
					for _, e := range events {
						if e.Topic == svc.TopicRunFailed || e.Topic == svc.TopicRunRequeued {
							n++
						}
					}
					most = max(most, n)
				}
				if most == 0 || most > giveUpUnit {
					t.Errorf("%d runs were given up in one unit of work, want at most %d", most, giveUpUnit)
				}
				for _, r := range runs {
					if got, err := s.Store.Run(s.ctx, r.ID); err != nil || begun && got.Status != svc.RunFailed || !begun && got.Status != svc.RunPending {
						t.Errorf("a run is %s (%v)", got.Status, err)
					}
				}
			}, func(c *Config) { c.LostAfter = time.Minute })
		})
	}
}
