package engine

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"svc/wire"
)

// untilEnd opens an uplink, stops its orchestrator, and returns every frame except heartbeat acknowledgements that
// the worker reads until the connection is closed.
func (w *worker) untilEnd(caps ...string) (frames []wire.Frame) {
	w.s.t.Helper()
	w.register(caps...)
	ctx, end := context.WithCancel(w.s.ctx)
	defer end()
	here, there := wire.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.s.ServeUplink(ctx, there, Hello{HostID: w.host.ID, InstanceID: w.instance}) }()
	beat, err := wire.Encode(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
	w.s.no(err)
	w.s.no(here.Write(w.s.ctx, beat))
	for {
		b, err := here.Read(w.s.ctx)
		if errors.Is(err, io.EOF) {
			<-ended
			return frames
		}
		w.s.no(err)
		f, err := wire.DecodeDown(b)
		w.s.no(err)
		if f.Type() == "heartbeat_ack" {
			end()
			continue
		}
		frames = append(frames, f)
	}
}

func TestAnOrchestratorThatEndsSaysWhenToComeBack(t *testing.T) {
	bubble(t, func(s *site) {
		began := time.Now()
		frames := s.newHost("new").untilEnd(wire.Capabilities...)
		if len(frames) != 1 {
			t.Fatalf("sent %v, want a goaway", frames)
		}
		away, ok := frames[0].(*wire.Goaway)
		if !ok || away.Reason == "" || away.AfterMS < awayAtLeast.Milliseconds() || away.AfterMS > (awayAtLeast+awaySpread).Milliseconds() {
			t.Errorf("sent %+v", frames[0])
		}
		if frames := s.newHost("old").untilEnd(wire.CapGoodbye, wire.CapStop); len(frames) != 0 {
			t.Errorf("a worker that does not know goaway was sent %+v", frames[0])
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the end of both took %s", took)
		}
	})
}

func TestAWorkerThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		ctx, end := context.WithCancel(s.ctx)
		defer end()
		here, there := wire.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeUplink(ctx, there, Hello{HostID: w.host.ID, InstanceID: w.instance}) }()
		s.settle()
		began := time.Now()
		end()
		<-ended
		if took := time.Since(began); took != closeGrace {
			t.Errorf("the end took %s, want %s", took, closeGrace)
		}
		_ = here.Close("")
	})
}

func TestAFleetComesBackSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers int
		at      float64
		want    time.Duration
	}{
		{0, 0.99, awayAtLeast}, {1, 0, awayAtLeast}, {1, 0.5, awayAtLeast + 5*time.Millisecond},
		{500, 0.5, awayAtLeast + 2500*time.Millisecond}, {1_000_000, 0.5, awayAtLeast + 5*time.Second},
	} {
		if got := goawayDelay(c.workers, c.at); got != c.want {
			t.Errorf("of %d workers the one at %v comes after %s, want %s", c.workers, c.at, got, c.want)
		}
	}
}
