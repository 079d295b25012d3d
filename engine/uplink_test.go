package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/hub"
	"svc/wire"
)

// raw opens an uplink with a hello, and returns functions that send a frame and read the next frame, including
// heartbeat acknowledgements.
func (w *worker) raw(hello Hello) (send func(wire.Frame), next func() wire.Frame) {
	here, there := wire.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.s.ServeUplink(w.s.ctx, there, hello) }()
	w.s.t.Cleanup(func() { _ = here.Close(""); <-ended })
	send = func(f wire.Frame) {
		w.s.t.Helper()
		b, err := wire.Encode(f)
		w.s.no(err)
		w.s.no(here.Write(w.s.ctx, b))
	}
	next = func() wire.Frame {
		w.s.t.Helper()
		ctx, cancel := context.WithTimeout(w.s.ctx, time.Second)
		defer cancel()
		b, err := here.Read(ctx)
		if err != nil {
			return nil // no frame arrived
		}
		f, err := wire.DecodeDown(b)
		w.s.no(err)
		return f
	}
	return send, next
}

func TestAHeartbeatIsAnsweredWithTheTime(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		send, next := w.raw(Hello{})
		for _, runs := range []*[]wire.LiveRun{nil, {}, {{RunID: svc.NewRunID(), Attempt: 1}}} { // with an inventory or without
			s.pass(time.Second)
			send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Runs: runs})
			if ack, ok := next().(*wire.HeartbeatAck); !ok || ack.Timestamp != s.now() {
				t.Errorf("a heartbeat was answered with %+v", ack)
			}
		}
		if f := next(); f != nil {
			t.Errorf("then came %+v", f)
		}
	})
}

func TestAWorkerThatNamesItselfGetsNewRunsAfterItsFirstHeartbeatToo(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		r := s.run()
		send, next := w.raw(Hello{HostID: w.host.ID, InstanceID: w.instance})
		beat := wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1}
		if f := next(); f != nil {
			t.Errorf("before any heartbeat came %+v", f)
		}
		send(beat)
		var d *wire.RunDispatch
		for f := next(); f != nil; f = next() {
			if got, ok := f.(*wire.RunDispatch); ok {
				d = got
			}
		}
		if d == nil || d.RunID != r.ID {
			t.Errorf("after the heartbeat came %+v", d)
		}
		// The host is online now. A connection that replaces this one must send its own heartbeat.
		_, again := w.raw(Hello{HostID: w.host.ID, InstanceID: w.instance})
		s.settle()
		s.run()
		if f := again(); f != nil {
			t.Errorf("before the first heartbeat of the new connection came %+v", f)
		}
	})
}

func TestTheCapabilitiesOfAConnectionAreThoseOfItsUpgrade(t *testing.T) {
	bubble(t, func(s *site) {
		for i, c := range []struct{ registered, upgrade, want []string }{
			{[]string{wire.CapStop}, nil, []string{wire.CapStop}},
			{nil, []string{wire.CapKeys}, []string{wire.CapKeys}},
			{[]string{wire.CapStop, wire.CapKeys}, []string{wire.CapKeys}, []string{wire.CapKeys}},
			{[]string{wire.CapStop}, []string{}, nil},
		} {
			w := s.newHost(fmt.Sprintf("h%d", i))
			w.register(c.registered...)
			send, next := w.raw(Hello{HostID: w.host.ID, InstanceID: w.instance, Capabilities: c.upgrade})
			send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
			if _, ok := next().(*wire.HeartbeatAck); !ok {
				t.Fatal("the heartbeat was not answered")
			}
			link, connected := s.Hub.Uplinks.Of(w.host.ID)
			if !connected {
				t.Fatal("the host is not connected")
			}
			for _, known := range wire.Capabilities {
				if got := link.Has(known); got != slices.Contains(c.want, known) {
					t.Errorf("registered with %v, upgraded with %v: %s is %v", c.registered, c.upgrade, known, got)
				}
			}
		}
	})
}

func TestAConnectionSpeaksForOneHost(t *testing.T) {
	bubble(t, func(s *site) {
		w, other := s.online("h"), s.newHost("other")
		beat := func(w *worker) wire.Heartbeat {
			return wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1}
		}
		s.news()
		w.send(beat(other))
		w.wantFrames("error identity_changed")
		send, next := other.raw(Hello{OnlyHost: w.host.ID})
		send(beat(other))
		if f, ok := next().(*wire.Error); !ok || f.Code != "host_not_found" {
			t.Errorf("a heartbeat under a token of another host was answered with %+v", f)
		}
		other.raw(Hello{OnlyHost: w.host.ID, HostID: other.host.ID, InstanceID: other.instance})
		s.settle()
		if _, ok := s.Hub.Uplinks.Of(other.host.ID); ok {
			t.Error("a token of another host opened this host's uplink")
		}
		send, next = other.raw(Hello{OnlyHost: other.host.ID})
		other.want(svc.HostRegistered)
		s.wantTopics()
		send(beat(other))
		if f, ok := next().(*wire.HeartbeatAck); !ok {
			t.Errorf("with its own token: answered %+v", f)
		}
		other.want(svc.HostOnline)
	})
}

func TestFramesAboutARunThatDoesNotExistHarmNothing(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		s.news()
		none := svc.Run{ID: svc.NewRunID(), Attempt: 1}
		w.send(wire.Snapshot{RunID: none.ID, Capture: "x", Timestamp: 1})
		w.wantFrames("error not_found")
		w.log(none, "x", 0)
		w.wantFrames("error not_found")
		w.ack(none, true)
		w.ack(none, false)
		w.wantFrames()
		r := s.run()
		w.wantFrames("run_dispatch 1") // the connection stays open
		s.wantTopics(svc.TopicProjectCreated, svc.TopicItemCreated, svc.TopicRunCreated, svc.TopicRunSpawning)
		w.started(r)
	})
}

func TestAnAnswerOfAHostThatWasNotGivenTheRunCountsForNothing(t *testing.T) {
	bubble(t, func(s *site) {
		w, stranger := s.online("h"), s.online("stranger")
		r := s.run(on(w))
		w.wantFrames("run_dispatch 1")
		s.news()
		before := s.get(r)
		for _, accepted := range []bool{false, true} {
			stranger.ack(r, accepted)
		}
		other := r
		other.Attempt = 7
		w.ack(other, false) // nor does a nack for another attempt
		if got := s.wantStatus(r, svc.RunSpawning); got.Version != before.Version || got.Acked {
			t.Errorf("the run became %+v", got)
		}
		s.wantTopics()
		w.wantFrames()
		w.ack(r, true)
		w.ack(r, false) // it has acknowledged the attempt before
		if got := s.wantStatus(r, svc.RunSpawning); !got.Acked {
			t.Errorf("after its own host's answer: %+v", got)
		}
		s.wantTopics()
	})
}

func TestAnOrphanIsJournaled(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.send(wire.Orphan{SessionName: r.SessionName, RunID: r.ID, Attempt: 1, Action: "stopped"})
		e := s.wantTopics(svc.TopicRunOrphan)[0]
		for f, want := range map[string]any{"run_id": r.ID, "attempt": 1.0, "task_id": r.TaskID, "project_id": r.ProjectID,
			"host_id": w.host.ID, "session_name": r.SessionName, "action": "stopped"} {
			if got := field(e, f); got != want {
				t.Errorf("run.orphan_detected has %s %v, want %v", f, got, want)
			}
		}
		w.send(wire.Orphan{SessionName: "svc-00000000", Action: "none"})
		if e := s.wantTopics(svc.TopicRunOrphan)[0]; field(e, "session_name") != "svc-00000000" || field(e, "action") != "none" {
			t.Errorf("journaled %s", e.Payload)
		}
		w.send(wire.Orphan{SessionName: r.SessionName, Action: "eaten"})
		w.wantFrames("error malformed_frame")
		s.wantTopics()
		s.wantStatus(r, svc.RunRunning)
	})
}

func TestAConnectionThatIsEndedIsToldWhyFirst(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		want := []string{}
		for range mostMalformed {
			s.no(w.conn.Write(s.ctx, []byte("no frame")))
			want = append(want, "error malformed_frame")
		}
		if err := <-w.ended; !errors.Is(err, errMalformed) {
			t.Errorf("the connection ended with %v", err)
		}
		w.wantFrames(want...)
		w.conn = nil
		deaf := s.newHost("deaf")
		deaf.register()
		deaf.connect()
		deaf.beat()
		s.settle()
		link, _ := s.Hub.Uplinks.Of(deaf.host.ID)
		link.Finish()
		if err := link.Send(wire.RunStop{RunID: svc.NewRunID(), Attempt: 1}); err == nil {
			t.Error("a connection that is about to end takes frames")
		}
		deaf.drop()
	})
}

func TestSessionsThatShouldBeOverAreToldToEndWhenTheWorkerListsThem(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		live, old, stopped := w.started(s.run()), w.started(s.run(policy(svc.RestartAlways))), w.started(s.run())
		s.want(svc.Applied)(s.signal(old, svc.SignalFinished))
		_, err := s.StopRun(s.ctx, stopped.ID)
		s.no(err)
		stop := w.wantFrames("run_stop 1")[0].(*wire.RunStop)
		if stop.RunID != stopped.ID || stop.Reason == "" {
			t.Errorf("told %+v", stop)
		}
		s.news()
		held := []wire.LiveRun{{RunID: live.ID, Attempt: 1}, {RunID: old.ID, Attempt: 1}, {RunID: stopped.ID, Attempt: 1}, {RunID: svc.NewRunID(), Attempt: 1}}
		w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Runs: &held})
		told := map[string]bool{}
		for _, f := range w.wantFrames("run_stop 1", "run_stop 1") {
			told[f.(*wire.RunStop).RunID] = true
		}
		if !told[old.ID] || !told[stopped.ID] {
			t.Errorf("told to end %v, want the superseded and the stopped one", told)
		}
		s.wantTopics()
	})
}

func TestScreensAreReadByPeopleOnly(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		item := s.task(s.project(), func(n *svc.NewWorkItem) { n.AutoMarkDone = ptr(true) })
		r := w.started(s.run(func(n *svc.NewRun) { n.TaskID = item.ID }))
		other := w.started(s.run())
		for _, text := range []string{"All done. exit code 0", "Continue? [y/n]", "ERROR: failed", "", "svc-signal completed success"} {
			w.send(wire.Snapshot{RunID: r.ID, Capture: text, Timestamp: 1})
			s.settle()
			if got, ok, err := s.Hub.Panes.Latest(r.ID); err != nil || !ok || got.Capture != text {
				t.Errorf("the screen is %+v (%v)", got, err)
			}
		}
		w.send(wire.Snapshot{RunID: other.ID, Capture: "another", Timestamp: 1})
		s.settle()
		if got, _, err := s.Hub.Panes.Latest(r.ID); err != nil || got.Capture != "svc-signal completed success" {
			t.Errorf("another run's screen changed this one: %+v (%v)", got, err)
		}
		s.pass(2 * time.Minute)
		if got := s.wantStatus(r, svc.RunRunning); got.NeedsInput || got.Result != nil || got.Version != r.Version {
			t.Errorf("screens changed the run: %+v", got)
		}
		if got, _ := s.WorkItem(s.ctx, item.ID); got.Version != 1 {
			t.Errorf("screens moved the item: %+v", got)
		}
		s.wantTopics(svc.TopicWorkerOffline) // only the silence was journaled
	})
}

func TestOutputAndScreensAreInNoFileOfTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r := w.started(s.run(func(n *svc.NewRun) { n.Prompt = "a prompt is in the database" }))
		look := func(when string) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, "svc.db*"))
			s.no(err)
			var all strings.Builder
			for _, f := range files {
				b, err := os.ReadFile(f)
				s.no(err)
				all.Write(b)
			}
			if !strings.Contains(all.String(), "a prompt is in the database") {
				t.Fatalf("%s: what must be in the database is not found in %v; the test looks in the wrong place", when, files)
			}
			if strings.Contains(all.String(), "unmistakable") {
				t.Errorf("%s: output is in the database", when)
			}
		}
		w.log(r, "unmistakable output\n", 0)
		w.send(wire.Snapshot{RunID: r.ID, Capture: "unmistakable screen", Timestamp: 1})
		s.settle()
		look("while it runs")
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.pass(10 * time.Second)
		look("after its end")
		w.send(wire.Snapshot{RunID: r.ID, Capture: "unmistakable last screen", Timestamp: 2}) // it may arrive after the end
		s.settle()
		if got, ok, err := hub.NewPanes(filepath.Join(dir, "relay"), s.Log).Latest(r.ID); err != nil || !ok || got.Capture != "unmistakable last screen" {
			t.Errorf("a server that is killed now would show %+v (%v)", got, err)
		}
		s.stop()
		look("after a stop")
		s = start(t, dir)
		s.settle()
		look("after a restart")
		if got, ok, err := s.Hub.Panes.Latest(r.ID); err != nil || !ok || got.Capture != "unmistakable last screen" {
			t.Errorf("the last screen is %+v (%v)", got, err)
		}
	})
}
