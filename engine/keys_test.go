package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/hub"
	"svc/wire"
)

// keysFrames returns the requests that arrived since the last call.
func (w *worker) keysFrames() []*wire.Keys {
	var out []*wire.Keys
	for _, f := range w.take() {
		if k, ok := f.(*wire.Keys); ok {
			out = append(out, k)
		}
	}
	return out
}

// sendKeys begins to send keys. The returned function waits for the result.
func (s *site) sendKeys(r svc.Run, keys ...string) (answer func() error) {
	answered := make(chan error, 1)
	go func() { answered <- s.SendKeys(s.ctx, r.ID, keys) }()
	return func() error { return <-answered }
}

// attach attaches to a run's terminal with a client that reads nothing.
func (s *site) attach(w *worker, r svc.Run) *hub.Attachment {
	s.t.Helper()
	a, err := s.Hub.Attach.Join(hub.Target{RunID: r.ID, Attempt: r.Attempt, HostID: w.host.ID}, hub.Person{Name: "ann"})
	s.no(err)
	s.t.Cleanup(a.Leave)
	s.settle()
	return a
}

func TestTheWorkerJudgesKeys(t *testing.T) {
	for name, c := range map[string]struct {
		keys   []string
		result wire.KeysResult
		code   svc.Code
		says   string
	}{
		"taken":                    {[]string{"yes", "Enter"}, wire.KeysResult{OK: true}, "", ""},
		"an interrupt":             {[]string{"Ctrl+C"}, wire.KeysResult{OK: true}, "", ""},
		"refused":                  {[]string{"rm -rf /"}, wire.KeysResult{Error: "only letters"}, svc.CodeInvalidKeys, "only letters"},
		"refused though they look": {[]string{"fine"}, wire.KeysResult{Error: "not now"}, svc.CodeInvalidKeys, "not now"},
		"refused without a word":   {[]string{"Ctrl+D"}, wire.KeysResult{}, svc.CodeInvalidKeys, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := w.started(s.run())
				answer := s.sendKeys(r, c.keys...)
				frames := w.keysFrames()
				if len(frames) != 1 {
					t.Fatalf("%d requests reached the worker", len(frames))
				}
				f := frames[0]
				if f.RequestID == "" || f.RunID != r.ID || f.Attempt != 1 || !slices.Equal(f.Keys, c.keys) {
					t.Errorf("asked %+v", f)
				}
				c.result.RequestID = f.RequestID
				w.send(c.result)
				err := answer()
				s.wantCode("keys", err, c.code)
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v does not say %q", err, c.says)
				}
				s.wantTopics() // what was typed is not journaled
			})
		})
	}
}

func TestKeysGoOnlyToARunThatCanTakeThem(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		code := func(what string, r svc.Run, want svc.Code) {
			t.Helper()
			s.wantCode(what, s.SendKeys(s.ctx, r.ID, []string{"Enter"}), want)
		}
		spawning := s.run()
		s.wantStatus(spawning, svc.RunSpawning)
		code("a spawning run", spawning, svc.CodeRunNotRunning)
		ended := w.started(s.run())
		s.want(svc.Applied)(s.signal(ended, svc.SignalFinished))
		code("a run that ended", ended, svc.CodeRunNotRunning)
		code("no run", svc.Run{ID: svc.NewRunID()}, svc.CodeNotFound)
		r := w.started(s.run())
		s.wantCode("no keys", s.SendKeys(s.ctx, r.ID, nil), svc.CodeValidation)
		w.take()

		holder := s.attach(w, r)
		code("while someone is attached", r, svc.CodeLeaseHeld)
		holder.Leave()
		s.settle()
		if n := len(w.keysFrames()); n != 0 {
			t.Errorf("%d refused requests reached the worker", n)
		}
		answer := s.sendKeys(r, "Enter")
		for _, f := range w.keysFrames() {
			w.send(wire.KeysResult{RequestID: f.RequestID, OK: true})
		}
		s.wantCode("after they left", answer(), "")

		w.drop()
		code("no uplink", r, svc.CodeHostNotConnected)
		plain := s.newHost("plain")
		plain.register()
		plain.connect()
		plain.beat()
		code("a worker that cannot", plain.started(s.run(on(plain))), svc.CodeCapabilityMissing)

		older := s.newHost("older")
		older.register(wire.CapKeys)
		older.connect()
		older.beat()
		r = older.started(s.run(on(older)))
		for _, key := range wire.NamedKeys {
			s.wantCode(key+" to a worker without names", s.SendKeys(s.ctx, r.ID, []string{"a", key}), svc.CodeCapabilityMissing)
		}
		answer = s.sendKeys(r, "a", "Enter", "Ctrl+C", "Ctrl+D") // the worker validates them
		for _, f := range older.keysFrames() {
			older.send(wire.KeysResult{RequestID: f.RequestID, OK: true})
		}
		s.wantCode("what every worker knows", answer(), "")
	})
}

func TestEachRequestForKeysGetsItsOwnAnswer(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				err := s.SendKeys(s.ctx, r.ID, []string{fmt.Sprint("k", i)})
				if i%2 == 0 && err != nil || i%2 == 1 && (svc.CodeOf(err) != svc.CodeInvalidKeys || !strings.Contains(err.Error(), fmt.Sprint("not k", i))) {
					t.Errorf("request %d was answered %v", i, err)
				}
			})
		}
		frames := w.keysFrames()
		if len(frames) != 20 {
			t.Fatalf("%d requests reached the worker", len(frames))
		}
		slices.Reverse(frames) // the answers arrive in another order
		for _, f := range frames {
			var i int
			_, err := fmt.Sscanf(f.Keys[0], "k%d", &i)
			s.no(err)
			w.send(wire.KeysResult{RequestID: f.RequestID, OK: i%2 == 0, Error: fmt.Sprint("not k", i)})
			w.send(wire.KeysResult{RequestID: f.RequestID, OK: i%2 == 1}) // a second answer is ignored
		}
		wg.Wait()
	})
}

func TestRepeatedKeysAreTypedOnceAndWaitForNobodyElse(t *testing.T) {
	bubble(t, func(s *site) {
		silent, w := s.online("silent"), s.online("h")
		stuck, r := silent.started(s.run(on(silent))), w.started(s.run(on(w)))
		send := func(r svc.Run, key string) (answer func() error) {
			answered := make(chan error, 1)
			go func() { answered <- s.SendKeys(WithIdempotency(s.ctx, key, "f"), r.ID, []string{"Enter"}) }()
			s.settle()
			return func() error { return <-answered }
		}
		unanswered := send(stuck, "one")
		began := time.Now()
		first, again := send(r, "two"), send(r, "two")
		frames := w.keysFrames()
		if len(frames) != 1 {
			t.Fatalf("%d requests reached the worker, want one for both", len(frames))
		}
		w.send(wire.KeysResult{RequestID: frames[0].RequestID, OK: true})
		for _, answer := range []func() error{first, again, send(r, "two")} {
			s.wantCode("repeated keys", answer(), "")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("they waited %v for another host's worker", took)
		}
		if n := len(w.keysFrames()); n != 0 {
			t.Errorf("they were typed %d times more", n)
		}
		s.wantCode("a worker that is silent", unanswered(), svc.CodeOutcomeUnknown)
		ctx, cancel := context.WithCancel(WithIdempotency(s.ctx, "three", "f"))
		waiting, left := send(r, "three"), make(chan error, 1)
		go func() { left <- s.SendKeys(ctx, r.ID, []string{"Enter"}) }()
		s.settle()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("one that left was told %v", err)
		}
		for _, f := range w.keysFrames() {
			w.send(wire.KeysResult{RequestID: f.RequestID})
		}
		s.wantCode("refused keys", waiting(), svc.CodeInvalidKeys)
	})
}

func TestKeysWithoutAnAnswerAreNotWaitedForForEver(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		stranger := s.online("other")
		silent := s.sendKeys(r, "Enter")
		began := time.Now()
		for _, f := range w.keysFrames() { // answers from another host's worker are ignored
			stranger.send(wire.KeysResult{RequestID: f.RequestID, OK: true})
		}
		s.wantCode("a worker that is silent", silent(), svc.CodeOutcomeUnknown)
		if took := time.Since(began); took != keysTimeout {
			t.Errorf("it took %v", took)
		}
		cut := s.sendKeys(r, "Enter")
		s.settle()
		began = time.Now()
		w.drop()
		s.wantCode("an uplink that drops", cut(), svc.CodeOutcomeUnknown)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v to notice", took)
		}
	})
}

func TestKeysAndInputAnswerTheQuestionOfARun(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		ask := func(n int64) {
			s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(n), func(sig *svc.Signal) { sig.NeedsInput = true }))
		}
		needs := func(what string, want bool) {
			t.Helper()
			if got := s.get(r).NeedsInput; got != want {
				t.Errorf("after %s needs_input is %v", what, got)
			}
		}
		ask(1)
		for _, ok := range []bool{false, true} {
			answer := s.sendKeys(r, "yes")
			for _, f := range w.keysFrames() {
				w.send(wire.KeysResult{RequestID: f.RequestID, OK: ok})
			}
			_ = answer()
			needs(fmt.Sprint("keys that were taken: ", ok), !ok)
		}
		ask(2)
		a := s.attach(w, r)
		s.no(a.Handle([]byte(`{"type":"resize","rows":30,"cols":90}`)))
		needs("looking on", true)
		s.no(a.Handle([]byte(`{"type":"input","bytes":"eQ=="}`)))
		needs("input", false)
	})
}

func TestALeaseIsJournaledWithItsRun(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		a := s.attach(w, r)
		acquired := s.wantTopics(svc.TopicRunLeaseAcquired)
		b := s.attach(w, r)
		s.wantTopics()
		a.Leave()
		passed := s.wantTopics(svc.TopicRunLeaseReleased, svc.TopicRunLeaseAcquired)
		for _, e := range append(acquired, passed...) {
			if field(e, "task_id") != r.TaskID || field(e, "project_id") != r.ProjectID || field(e, "timestamp") == nil {
				t.Errorf("journaled %s", e.Payload)
			}
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		b.Leave()
		s.wantTopics(svc.TopicRunFinished, svc.TopicRunLeaseReleased)
		if b.Why() == nil || !errors.Is(b.Why(), hub.ErrRunEnded) {
			t.Errorf("the client of a run that ended is told %v", b.Why())
		}
		if _, held := s.Hub.Attach.Holder(r.ID); held {
			t.Error("the lease outlived its run")
		}
	})
}

// Output from the worker reaches the client of that relay completely.
func TestOutputOfTheWorkerReachesTheClient(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		a := s.attach(w, r)
		frames := w.wantFrames("attach_open")
		open := frames[0].(*wire.AttachOpen)
		if open.RunID != r.ID || open.Attempt != 1 || open.AttachID == "" {
			t.Errorf("opened %+v", open)
		}
		w.send(wire.AttachData{AttachID: open.AttachID, Bytes: []byte{0, 0xff, 'x'}})
		s.settle()
		var types []string
		for range 2 {
			b, err := a.Next(s.ctx)
			s.no(err)
			var f struct {
				Type  string
				Bytes []byte
			}
			s.no(json.Unmarshal(b, &f))
			types = append(types, f.Type+" "+string(f.Bytes))
		}
		if !slices.Equal(types, []string{"lease_acquired ", "data \x00\xffx"}) {
			t.Errorf("the client got %q", types)
		}
		a.Leave()
		w.wantFrames("attach_close")
	})
}
