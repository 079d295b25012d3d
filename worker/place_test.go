package worker

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/internal/textbuffer"
	"svc/rundir"
	"svc/wire"
)

func TestWhoWantsASessionWaitsUntilItIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(*session, context.CancelFunc)
		live    bool
		after   time.Duration
	}{
		"it is found":      {func(s *session, _ context.CancelFunc) { s.setPlace(place{pane: "%0", live: true}) }, true, time.Second},
		"it is over":       {func(s *session, _ context.CancelFunc) { s.setPlace(place{pane: "%0"}) }, false, time.Second},
		"it never began":   {func(s *session, _ context.CancelFunc) { s.closeOnce(&s.once.gone, s.gone) }, false, time.Second},
		"the worker ends":  {func(_ *session, cancel context.CancelFunc) { cancel() }, false, time.Second},
		"nothing is known": {func(*session, context.CancelFunc) {}, false, placeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := newSession(&Worker{log: quietLogger(&textbuffer.Buffer{})}, rundir.Attempt{RunID: svc.NewRunID(), Number: 1}, nil)
				began := time.Now()
				time.AfterFunc(time.Second, func() { c.happens(s, cancel) })
				if p := s.awaitPlace(ctx); p.live != c.live || time.Since(began) != c.after {
					t.Errorf("live %v after %v, want %v after %v", p.live, time.Since(began), c.live, c.after)
				}
				clocktest.Pass(time.Second) // later there is no waiter any more
				s.setPlace(place{pane: "%1", live: true})
				if p := s.awaitPlace(t.Context()); !p.live || p.pane != "%1" {
					t.Errorf("the place is %+v", p)
				}
			})
		})
	}
}

func TestASessionThatIsAboutToBeginCanBeAttachedAndTypedInto(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	l.dispatch(run, 1, `echo welcome; read line; echo "read $line"; read more`)
	l.wait("the session", func() bool { return l.w.session(run, 1) != nil })
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"hello", "Enter"}})
	if r := l.pasted("k"); !r.OK {
		t.Errorf("keys were answered %+v", r)
	}
	l.wait("the screen", func() bool { return strings.Contains(l.o.drawn("a"), "read hello") })
}
