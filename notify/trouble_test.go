package notify

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

func TestASinkThatComesAndGoesIsToldEverythingOnce(t *testing.T) {
	bubble(t, func(o *fixture) {
		calls := 0
		o.to.answers(func(r *http.Request) (int, error) {
			if r.URL.Host == "well" {
				return 200, nil
			}
			switch calls++; calls % 5 {
			case 0:
				return 503, nil
			case 1:
				return 0, errors.New("connection reset")
			case 2:
				<-r.Context().Done() // no answer within the timeout
				return 0, r.Context().Err()
			case 3:
				return 307, nil
			}
			return 200, nil
		})
		runs := map[string]bool{}
		for range 6 {
			runs[o.asks("?").ID] = true
			o.pass(40 * time.Second)
			if got := o.to.take("well"); len(got) != 1 {
				t.Errorf("the other sink was told %d times", len(got))
			}
		}
		for range 24 {
			if o.state("hook").Waiting == 0 {
				break
			}
			o.pass(5 * time.Minute)
		}
		told, ids := map[string]int{}, map[string]string{}
		for _, d := range o.to.take("hook") {
			for run := range runs {
				if !strings.Contains(d.body, run) {
					continue
				}
				if ids[run] == "" {
					ids[run] = d.id
				}
				if d.id != ids[run] {
					t.Errorf("an entry was told with the ids %s and %s", ids[run], d.id)
				}
				if d.taken {
					told[run]++
				}
			}
		}
		for run := range runs {
			if told[run] != 1 {
				t.Errorf("an entry was taken %d times", told[run])
			}
		}
		if s := o.state("hook"); s.Waiting != 0 || s.OldestAt != nil {
			t.Errorf("the sink is %+v", s)
		}
	}, hook, svc.Sink{Name: "well", Kind: svc.SinkSlack, URL: "http://well/s"})
}

func TestAKillBetweenCommitAndSendLosesNothing(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.stop()
		o.connect(hook)
		o.asks("?")
		o.must(o.sweep(o.ctx))
		entries, err := o.open(o.ctx)
		o.must(err)
		n, _, err := o.claim(o.ctx, hook, entries)
		o.must(err)
		if n == nil || n.Tries != 1 {
			t.Fatalf("claimed was %+v", n)
		}
		o.must(o.st.Close()) // the process ended before it sent anything, and did not release its lease
		o.start(hook)
		o.pass(lease / 2)
		if early := o.to.take("hook"); len(early) != 0 {
			t.Errorf("%v were sent while another orchestrator may be sending", early)
		}
		o.pass(lease)
		if got := o.to.take("hook"); len(got) != 1 || got[0].id != n.ID {
			t.Errorf("sent were %v, want the notification %s", got, n.ID)
		}
		o.pass(5 * time.Minute)
		if again := o.to.take("hook"); len(again) != 0 {
			t.Errorf("it was sent again: %v", again)
		}
	}, hook)
}

func TestALeaseEndsWithTheTermOfItsOwner(t *testing.T) {
	for name, c := range map[string]struct {
		before, after int64
		atOnce        bool
	}{
		"a later term":    {4, 5, true},
		"the same term":   {5, 5, false},
		"an earlier term": {6, 5, false}, // the database was restored
		"no terms":        {0, 0, false},
		"none before":     {0, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(o *fixture) {
				o.stop()
				o.connect(hook)
				o.begin(c.before)
				o.asks("?")
				o.must(o.sweep(o.ctx))
				entries, err := o.open(o.ctx)
				o.must(err)
				n, _, err := o.claim(o.ctx, hook, entries)
				o.must(err)
				o.must(o.st.Close()) // as if its process were killed or frozen
				o.connect(hook)
				o.begin(c.after)
				o.serve()
				o.pass(2 * time.Second)
				early := o.to.take("hook")
				o.pass(lease)
				got := slices.Concat(early, o.to.take("hook"))
				if atOnce := len(early) == 1; atOnce != c.atOnce || len(got) != 1 || got[0].id != n.ID {
					t.Errorf("sent were %v, of them %d at once; want the notification %s", got, len(early), n.ID)
				}
			}, hook)
		})
	}
}

func TestASinkIsLeftAloneAsLongAsItAsks(t *testing.T) {
	bubble(t, func(o *fixture) {
		for _, c := range []struct {
			status int
			says   func() string
			want   time.Duration
		}{
			{429, func() string { return "90" }, 90 * time.Second},
			{503, func() string { return time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat) }, 5*time.Minute - 3*time.Second},
			{503, func() string { return "soon" }, 0},
			{503, func() string { return "-5" }, 0},
		} {
			o.to.answers(status(c.status))
			o.to.mu.Lock()
			o.to.header = http.Header{"Retry-After": {c.says()}}
			o.to.mu.Unlock()
			r := o.asks("?")
			o.pass(2 * time.Second)
			first := o.to.take("hook")
			o.to.answers(nil)
			o.pass(c.want + 15*time.Second)
			got := o.to.take("hook")
			o.answered(r)
			if len(first) != 1 || len(got) != 1 || got[0].id != first[0].id {
				t.Fatalf("%s: tried %v, then %v", c.says(), first, got)
			}
			if waited := got[0].at.Sub(first[0].at); waited < c.want || waited > c.want+11*time.Second {
				t.Errorf("%d with Retry-After %q: tried again after %v, want %v", c.status, c.says(), waited, c.want)
			}
		}
	}, hook)
}

func TestASinkMayNotAskForEver(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]time.Duration{"864000": mostRetryAfter, "4294967296": 0, "0": 0, "7": 7 * time.Second, "Sat, 01 Jan 2000 04:05:06 GMT": 0} {
		err := checkResponse(&http.Response{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"Retry-After": {says}}})
		if err == nil || err.Error() != "it answered 503 Service Unavailable" || retryWait(err) != want {
			t.Errorf("%q: %v, left alone for %v, want %v", says, err, retryWait(err), want)
		}
	}
	if err := checkResponse(&http.Response{StatusCode: 404, Header: http.Header{"Retry-After": {"7"}}}); !errors.As(err, new(refusal)) || retryWait(err) != 0 {
		t.Errorf("what is final is %v, to be tried after %v", err, retryWait(err))
	}
}

func TestStatesTellWhatWaitsSinceWhenAndWhatFailed(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.to.answers(status(500))
		began := o.now()
		o.asks("one?")
		o.asks("two?")
		o.pass(time.Minute)
		states, err := o.States(o.ctx)
		o.must(err)
		tries := int64(len(o.to.take("hook")))
		if s := states[0]; s.Waiting != 2 || s.OldestAt == nil || s.OldestAt.Sub(began) > 2*time.Second || tries < 2 || s.FailedTries != tries {
			t.Errorf("after %d tries the state is %+v", tries, s)
		}
		o.to.answers(nil)
		o.pass(5 * time.Minute)
		states, err = o.States(o.ctx)
		o.must(err)
		failed := int64(0)
		for _, d := range o.to.take("hook") {
			if !d.taken {
				failed++
			}
		}
		if s := states[0]; s.Waiting != 0 || s.OldestAt != nil || s.FailedTries != tries+failed || s.Failures != 0 {
			t.Errorf("when all is sent the state is %+v", s)
		}
	}, hook)
}
