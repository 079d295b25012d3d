package engine

import (
	"errors"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/store"
)

// clock is a wall clock that a test can set apart from the monotonic clock of its bubble. It can also block every
// caller, like a frozen process.
type clock struct {
	mu     sync.Mutex // guards the rest
	ahead  time.Duration
	frozen chan struct{} // closed at the end of the freeze; nil: not frozen
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	frozen := c.frozen
	c.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// freeze blocks every loop of the engine until thaw is called.
func (c *clock) freeze() (thaw func()) {
	frozen := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = frozen
	return func() {
		c.mu.Lock()
		c.frozen = nil
		c.mu.Unlock()
		close(frozen)
	}
}

// withClock runs a test whose engine and store use a test clock as their wall clock.
func withClock(t *testing.T, test func(s *site, c *clock), options ...func(*Config)) {
	t.Parallel()
	dir, c := t.TempDir(), &clock{}
	options = append(options, func(config *Config) { config.Now = c.Now })
	inBubble(t, func(t *testing.T) { test(startWith(t, dir, store.Options{Now: c.Now}, options...), c) })
}

func TestAJumpOfOurClockDeclaresNobodyOffline(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		r := s.run(policy(svc.RestartAlways)) // its ack will arrive later
		w.wantFrames("run_dispatch 1")
		s.news()
		c.jump(time.Hour)
		s.pass(5 * time.Second)
		w.want(svc.HostOnline)
		w.ack(r, true)
		if got := s.wantStatus(r, svc.RunSpawning); got.Attempt != 1 || !got.Acked {
			t.Errorf("attempt %d, acked %v", got.Attempt, got.Acked)
		}
		s.wantTopics()
		w.beat()
		if h := w.want(svc.HostOnline); *h.LastSeenAt != s.now() {
			t.Errorf("last seen at %v, want now", h.LastSeenAt)
		}
		s.pass(91 * time.Second) // silence counts as before
		w.want(svc.HostOffline)
	})
}

func TestAClockThatGoesBackKeepsNoDeadHostOnline(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		s.pass(time.Second)
		c.jump(-time.Hour)
		s.pass(2 * time.Second)
		w.beat()
		if h := w.want(svc.HostOnline); *h.LastSeenAt != s.now() {
			t.Errorf("last seen at %v, want now, %v", h.LastSeenAt, s.now())
		}
		s.pass(10 * time.Second)
		stored, err := s.Store.Host(s.ctx, w.host.ID)
		s.no(err)
		if *stored.LastSeenAt > s.now() {
			t.Errorf("stored as seen in the future, at %v", stored.LastSeenAt)
		}
		s.pass(85 * time.Second)
		w.want(svc.HostOffline)
	})
}

func TestADeadHostIsNotKeptByAClockThatGoesBack(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		s.pass(80 * time.Second)
		c.jump(-time.Hour)
		s.pass(95 * time.Second) // at most the whole window again
		w.want(svc.HostOffline)
	})
}

func TestWhatAFrozenProcessDidNotSeeIsNotSilence(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		r := s.run(policy(svc.RestartAlways))
		w.wantFrames("run_dispatch 1")
		running := w.started(s.run())
		s.news()
		s.pass(40 * time.Second)
		thaw := c.freeze()
		s.pass(time.Hour)
		thaw()
		s.pass(5 * time.Second)
		w.want(svc.HostOnline)
		s.wantStatus(r, svc.RunSpawning)
		s.wantStatus(running, svc.RunRunning)
		s.pass(80 * time.Second)
		w.want(svc.HostOnline) // the whole window again
		s.pass(10 * time.Second)
		w.want(svc.HostOffline)
	}, func(c *Config) { c.LostAfter = time.Minute })
}

func TestAnotherInstanceIsJudgedByTimeThatPassed(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		s.pass(time.Second)
		s.news()
		c.jump(time.Hour) // the heartbeat of the pinned instance was a second ago all the same
		clone := &worker{s: s, host: w.host, instance: svc.NewID()}
		clone.connect()
		clone.beat()
		if h := w.want(svc.HostOnline); !h.InstanceSuspect || *h.InstanceID != w.instance {
			t.Errorf("a second instance within the window: %+v", h)
		}
		s.wantTopics(svc.TopicWorkerSuspect)
	})
}

func TestEnableIsJudgedByTimeThatPassed(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			withClock(t, func(s *site, c *clock) {
				w := s.online("h")
				_, err := s.DisableHost(s.ctx, "h")
				s.no(err)
				s.pass(time.Second)
				c.jump(jump)
				h, err := s.EnableHost(s.ctx, "h")
				if err != nil || h.Status != svc.HostOnline {
					t.Errorf("heard a second ago, enabled to %s (%v)", h.Status, err)
				}
				_, err = s.DisableHost(s.ctx, "h")
				s.no(err)
				s.pass(2 * time.Minute)
				h, err = s.EnableHost(s.ctx, "h")
				if err != nil || h.Status != svc.HostOffline {
					t.Errorf("silent for two minutes, enabled to %s (%v)", h.Status, err)
				}
				w.want(svc.HostOffline)
			})
		})
	}
}

func TestLostAfterIsTimeThatPassed(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		r := w.started(s.run())
		w.drop()
		s.pass(2 * time.Minute)
		w.want(svc.HostOffline)
		c.jump(time.Hour)
		s.pass(5 * time.Minute)
		s.wantStatus(r, svc.RunRunning)
		c.jump(-2 * time.Hour)
		s.pass(6 * time.Minute)
		s.wantStatus(r, svc.RunFailed)
	}, func(c *Config) { c.LostAfter = 10 * time.Minute })
}

func TestADatabaseThatRefusesIsABreak(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		w := newWitness(time.Now, 90*time.Second)
		began := time.Now()
		step := func(d time.Duration, err error) (since time.Duration, ok bool) {
			clocktest.Pass(d)
			w.probed(w.look(), err)
			_, at, ok := w.watched()
			return at.Sub(began), ok
		}
		for range 10 {
			if since, ok := step(time.Second, nil); since != 0 || !ok {
				t.Errorf("an answer was taken for a break: since %v, %v", since, ok)
			}
		}
		for i := range 30 {
			since, ok := step(time.Second, errors.New("no database"))
			if want := time.Duration(11+i) * time.Second; since != want || ok != (i < 15) {
				t.Errorf("without a database for %d s: since %v, decisions %v", i+1, since, ok)
			}
		}
		if since, ok := step(time.Second, nil); since != 40*time.Second || !ok {
			t.Errorf("when it was back: since %v, %v", since, ok)
		}
	})
}

// While the database does not respond, and at the first check after that, no host is declared offline.
func TestTimeWithoutTheDatabaseIsNotSilence(t *testing.T) {
	withClock(t, func(s *site, _ *clock) {
		w := s.online("h")
		r := s.run(policy(svc.RestartAlways))
		w.wantFrames("run_dispatch 1")
		s.pass(40 * time.Second)
		s.news()
		back := make(chan struct{})
		stuck := make(chan error, 1)
		go func() {
			// Like a commit whose response is lost in the network.
			stuck <- s.Store.Write(s.ctx, func(*store.Tx) error { <-back; return nil })
		}()
		s.pass(10 * time.Minute)
		close(back)
		s.no(<-stuck)
		s.pass(time.Second)
		w.want(svc.HostOnline)
		s.wantStatus(r, svc.RunSpawning)
		s.pass(85 * time.Second)
		w.want(svc.HostOnline)
		s.wantTopics()
		s.pass(10 * time.Second)
		w.want(svc.HostOffline)
	})
}

// The measured wait of a run must not depend on the wall clock.
func TestAJumpOfOurClockEndsNoWait(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			withClock(t, func(s *site, c *clock) {
				r := s.run()
				s.pass(time.Minute)
				c.jump(jump)
				s.pass(time.Minute)
				s.wantStatus(r, svc.RunPending)
				w := s.online("h")
				s.pass(2 * time.Second)
				w.wantFrames("run_dispatch 1")
				s.wantStatus(r, svc.RunSpawning)
			})
		})
	}
}

func TestAFrozenProcessEndsNoWait(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		r := s.run()
		s.pass(time.Minute)
		thaw := c.freeze()
		s.pass(time.Hour)
		thaw()
		s.pass(time.Minute)
		s.wantStatus(r, svc.RunPending)
		s.pass(4 * time.Minute)
		s.wantStatus(r, svc.RunFailed)
	})
}

func TestAShortFreezeDeclaresNobodyOfflineWhoseHeartbeatIsOnlyUnread(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w := s.online("h")
		s.pass(89 * time.Second)
		thaw := c.freeze()
		s.pass(5 * time.Second) // meanwhile a heartbeat arrives and is not read
		thaw()
		s.pass(100 * time.Millisecond)
		w.want(svc.HostOnline)
		w.beat()
		s.pass(80 * time.Second)
		w.want(svc.HostOnline)
		s.pass(15 * time.Second)
		w.want(svc.HostOffline)
	})
}

// A claim pass may be frozen between two readings of the clock.
func TestAJumpOfOurClockWithinAPassEndsNoWait(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			withClock(t, func(s *site, c *clock) {
				s.pass(10 * time.Minute)
				before := s.run()
				s.pass(3 * time.Second)
				began := s.now()
				c.jump(jump)
				after := s.run()
				waiting, err := s.readQueues(s.ctx)
				s.no(err)
				_, err = s.endOverdue(s.ctx, waiting, began)
				s.no(err)
				s.wantStatus(before, svc.RunPending)
				s.wantStatus(after, svc.RunPending)
			})
		})
	}
}
