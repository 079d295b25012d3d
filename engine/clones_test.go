package engine

import (
	"testing"

	"svc"
	"svc/wire"
)

// boot connects a worker process with a boot id, and returns its connection.
func (w *worker) boot(id string) *worker {
	w.s.t.Helper()
	c := &worker{s: w.s, host: w.host, instance: w.instance}
	send, next := c.raw(Hello{HostID: w.host.ID, InstanceID: w.instance, BootID: id})
	send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
	if _, ok := next().(*wire.HeartbeatAck); !ok {
		w.s.t.Errorf("boot %s: the heartbeat was not answered", id)
	}
	return c
}

func TestAReplacedBootThatComesBackMakesItsHostSuspect(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		w.boot("first")
		w.boot("second") // a restart of the worker
		w.boot("second") // and a reconnect
		if h := w.want(svc.HostOnline); h.InstanceSuspect {
			t.Error("a restart is suspect")
		}
		s.news()
		w.boot("first") // two processes are alive at the same time
		if h := w.want(svc.HostOnline); !h.InstanceSuspect || *h.InstanceID != w.instance {
			t.Errorf("two processes of one instance: %+v", h)
		}
		s.wantTopics(svc.TopicWorkerSuspect)
		s.wantStatus(s.run(on(w)), svc.RunPending)
	})
}

func TestOrdersGoToThePinnedInstance(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		stopped, failed := w.started(s.run()), w.started(s.run())
		clone := &worker{s: s, host: w.host, instance: svc.NewID()}
		clone.register(wire.Capabilities...)
		clone.connect()
		clone.beat()
		_, err := s.StopRun(s.ctx, stopped.ID)
		s.no(err)
		s.want(svc.Applied)(s.signal(failed, svc.SignalFailed, byHook))
		w.wantFrames("run_stop 1", "run_stop 1")
		clone.wantFrames()
	})
}

func TestALostSessionIsBelievedOfTheProcessThatKnows(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		w.boot("first")
		r := s.get(s.run())
		s.want(svc.Applied)(s.signal(r, svc.SignalStarted))
		reports := func(what, boot string, want svc.Code, change ...func(*svc.Signal)) {
			t.Helper()
			sig := svc.Signal{RunID: r.ID, Kind: svc.SignalFinished, Attempt: 1, Source: svc.FromWrapper, ExitCode: -1, Reason: "session_lost", Timestamp: 1}
			for _, c := range change {
				c(&sig)
			}
			s.wantCode(what, s.mayReportLoss(s.ctx, sig, boot), want)
		}
		reports("the process that was given the run", "first", "")
		reports("a peer that does not say", "", "")
		reports("a process that is not connected", "copy", svc.CodeUnavailable)
		reports("an exit that a wrapper reported", "copy", "", func(sig *svc.Signal) { sig.Reason = "" })
		reports("a dead attempt", "copy", "", func(sig *svc.Signal) { sig.Attempt = 0 })
		w.boot("second")
		reports("a process that just came", "second", svc.CodeUnavailable)
		reports("the one that it replaced", "first", svc.CodeUnavailable)
		s.pass(settledAfter)
		reports("the host's only process for a while", "second", "")
		s.wantStatus(r, svc.RunRunning)
	})
}
