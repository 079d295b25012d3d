package hub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
	"svc/wire"
)

// answering is a connection whose other end answers pings, or does not.
type answering struct {
	wire.Conn
	alive bool
}

func (a answering) Ping(ctx context.Context) error {
	if a.alive {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func process(boot string, alive bool) *Uplink {
	near, _ := wire.Pipe()
	l := NewUplink(answering{near, alive})
	l.Identify("host", "instance", boot, nil)
	return l
}

func TestASecondLiveProcessOfOneInstanceIsNotTheHostsOwn(t *testing.T) {
	t.Parallel()
	u := NewUplinks()
	first, second := process("a", true), process("b", true)
	u.Pin("host", "instance")
	if u.Contested(t.Context(), first) || u.Add(first) {
		t.Fatal("the only process is contested")
	}
	if !u.Contested(t.Context(), second) {
		t.Fatal("a second live process went unnoticed")
	}
	u.AddForeign(second)
	if own, ok := u.Of("host"); !ok || own != first {
		t.Errorf("the host's own connection is %v", own)
	}
	if again := process("a", true); u.Contested(t.Context(), again) {
		t.Error("a second connection of the same process is contested")
	}
	u.CloseForeign("host")
	if err := second.Send(wire.HeartbeatAck{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("the foreign connection is open: %v", err)
	}
}

func TestWhatACrashLeftBehindContestsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := NewUplinks()
		u.Pin("host", "instance")
		dead := process("a", false)
		u.Add(dead)
		began := time.Now()
		if u.Contested(t.Context(), process("b", true)) {
			t.Error("a connection without an answer counts as a process")
		}
		if took := time.Since(began); took != answerWithin {
			t.Errorf("it was given %v to answer", took)
		}
		if err := dead.Send(wire.HeartbeatAck{}); !errors.Is(err, ErrNotConnected) {
			t.Errorf("the dead connection is open: %v", err)
		}
	})
}

func TestAProcessMayReportTheLossOfItsOwnRunsAtOnceAndOfOthersLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := NewUplinks()
		u.Pin("host", "instance")
		if u.MayReportLoss("host", "a", "run", 0) {
			t.Error("a process that is not connected may report losses")
		}
		l := process("a", true)
		u.Add(l)
		u.Given(l, "mine")
		check := func(when, run string, want bool) {
			t.Helper()
			if got := u.MayReportLoss("host", "a", run, time.Minute); got != want {
				t.Errorf("%s, run %s: may report its loss: %v", when, run, got)
			}
		}
		check("at once", "mine", true)
		check("at once", "inherited", false)
		clocktest.Pass(time.Minute)
		check("later", "inherited", true)
		if u.MayReportLoss("host", "b", "mine", 0) {
			t.Error("another process may report the loss")
		}
		u.Remove(l)
		again := process("a", true)
		u.Add(again)
		check("after a reconnection", "inherited", true)
	})
}
