package hub

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/wire"
)

func TestOutputIsMergedToTenFramesASecondWithoutLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		ids := s.link().opened()
		var want strings.Builder
		for i := range 2500 { // a line every millisecond
			line := fmt.Sprintf("%06d %s\n", i, strings.Repeat("#", 300))
			want.WriteString(line)
			s.emit(ids, line)
			clocktest.Pass(time.Millisecond)
		}
		clocktest.Pass(frameEvery)
		synctest.Wait()
		got, frames := p.output()
		if got != want.String() {
			t.Errorf("%d of %d bytes", len(got), want.Len())
		}
		if n := len(frames); n < 24 || n > 26 {
			t.Errorf("%d frames in 2.5 s", n)
		}
		for i := 1; i < len(frames); i++ {
			if gap := frames[i].at.Sub(frames[i-1].at); gap < frameEvery {
				t.Errorf("frame %d came %v after the one before", i, gap)
			}
		}
	})
}

func TestTheFirstOutputAfterAPauseGoesOutAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		ids := s.link().opened()
		for i := range 10 {
			begin := time.Now()
			s.emit(ids, "x")
			synctest.Wait()
			_, frames := p.output()
			if len(frames) != i+1 || !frames[i].at.Equal(begin) {
				t.Fatalf("echo %d: %d frames", i, len(frames))
			}
			clocktest.Pass(frameEvery)
		}
	})
}

func TestTheEchoOfAKeyIsNotDelayedByWhatWasDrawnBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		looker := s.join("b", runA)
		ids := s.link().opened()
		s.emit(ids, "drawn just before")
		synctest.Wait()
		clocktest.Pass(frameEvery / 10)
		if err := s.sends("a", input("x")); err != nil {
			t.Fatal(err)
		}
		typed := time.Now()
		for part := range 4 { // an echo may arrive in parts; a large amount of output is still merged
			s.emit(ids, "x")
			synctest.Wait()
			if _, frames := p.output(); len(frames) != 1+min(part+1, echoFrames) || !frames[len(frames)-1].at.Equal(typed) {
				t.Errorf("part %d: %d frames, the last at %v after the key", part, len(frames), frames[len(frames)-1].at.Sub(typed))
			}
		}
		if _, frames := looker.output(); len(frames) != 1 {
			t.Errorf("one who did not type got %d frames, want 1", len(frames))
		}
		clocktest.Pass(frameEvery)
		synctest.Wait()
		if got, _ := p.output(); got != "drawn just beforexxxx" {
			t.Errorf("the output is %q", got)
		}
	})
}

func TestEveryClientHasItsOwnRelayAndSeesTheOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		a, b, other := s.join("a", runA), s.join("b", runA), s.join("c", runB)
		ids := s.link().opened()
		if len(ids) != 3 {
			t.Fatalf("%d relays", len(ids))
		}
		all := "\a\b\t\r\n\x1b[2J\x1b[1;31m日本 é ─\x1b[0m\x1b[?25l"
		s.emit(ids[:2], all)
		s.hub.FromWorker(hostB, &wire.AttachData{AttachID: ids[0], Bytes: []byte("another host's")})
		synctest.Wait()
		for _, p := range []*person{a, b} {
			if got, _ := p.output(); got != all {
				t.Errorf("got %q", got)
			}
		}
		if got, _ := other.output(); got != "" {
			t.Errorf("another run's client got %q", got)
		}
	})
}

func TestSizesAreToldToEveryoneOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		s.join("b", runA)
		s.said()
		for _, id := range s.link().opened() {
			s.hub.FromWorker(hostA, &wire.AttachResized{AttachID: id, Rows: 40, Cols: 100})
		}
		if got := s.said(); got != "a:resize 40x100 b:resize 40x100" {
			t.Errorf("told %q", got)
		}
		s.hub.FromWorker(hostA, &wire.AttachResized{AttachID: s.link().opened()[0], Rows: 0, Cols: -5})
		s.join("c", runA)
		if got := s.said(); got != "c:lease_held c:resize 40x100" {
			t.Errorf("one who comes later is told %q", got)
		}
	})
}

func TestAnAnswerAboutAnOlderSizeDoesNotBringItBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		id := s.link().opened()[0]
		_ = s.sends("a", `{"type":"resize","rows":30,"cols":100}`)
		_ = s.sends("a", `{"type":"resize","rows":31,"cols":101}`)
		s.hub.FromWorker(hostA, &wire.AttachResized{AttachID: id, Rows: 30, Cols: 100}) // the acknowledgement of the first size
		s.link().take()
		s.join("b", runA)
		if got := s.link().take(); !slices.Equal(got, []string{"open 11/1 31x101"}) {
			t.Errorf("a client who comes has the worker do %q, want the size that the holder asked for last", got)
		}
	})
}

func TestAClientWhoComesWhileTheHolderResizesDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		s.join("b", runA)
		link := &fakeLink{caps: []string{wire.CapAttach}}
		s.setLink(link)
		var handled atomic.Bool
		link.onSend = func(f wire.Frame) { // b's relay is replaced; during that, a resizes
			if _, is := f.(wire.AttachClose); is {
				link.onSend = nil
				go func() {
					_ = s.people["a"].a.Handle([]byte(resize))
					handled.Store(true)
				}()
				for i := 0; i < 10_000 && !handled.Load(); i++ {
					runtime.Gosched() // the other goroutine may run, and may have to wait for us
				}
			}
		}
		s.people["b"].a.open()
		synctest.Wait()
		if !handled.Load() {
			t.Fatal("nobody resized")
		}
		got := link.take()
		if at, last := slices.Index(got, "resize 41x123"), slices.Index(got, "open 11/1 50x220"); at < last {
			t.Errorf("the worker was told %q: the old size after the new one", got)
		}
	})
}

func TestTheEndComesAfterTheOutputBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		ids := s.link().opened()
		for i := range 5 {
			s.emit(ids, fmt.Sprintf("bye%d ", i))
		}
		s.hub.RunEnded(runA, 1)
		s.emit(ids, "too late")
		<-p.done
		if got, _ := p.output(); got != "bye0 bye1 bye2 bye3 bye4 " || p.ended() != ErrRunEnded {
			t.Errorf("got %q, then %v", got, p.ended())
		}
	})
}

func TestAnEndedAttemptDoesNotEndTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		old := s.join("old", runA)
		target := Target{RunID: runA, Attempt: 2, HostID: hostA}
		a, err := s.hub.Join(target, ann)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Leave()
		<-old.done
		if old.ended() != ErrRunEnded {
			t.Errorf("the old attempt's client ended with %v", old.ended())
		}
		s.hub.RunEnded(runA, 1)
		synctest.Wait()
		if _, held := s.hub.Holder(runA); !held || a.Why() != nil {
			t.Errorf("held %v, ended for %v", held, a.Why())
		}
		if _, err := s.hub.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann); err != ErrRunEnded {
			t.Errorf("joining the old attempt: %v", err)
		}
	})
}

func TestAClientThatDoesNotReadIsCutOffAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		reads := s.join("reads", runA)
		stuck, err := s.hub.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann)
		if err != nil {
			t.Fatal(err)
		}
		defer stuck.Leave()
		if _, err := stuck.Next(t.Context()); err != nil { // its first frame; it never calls Next again
			t.Fatal(err)
		}
		ids := s.link().opened()
		total := 0
		for range 200 {
			s.emit(ids, strings.Repeat("q", 100<<10))
			total += 100 << 10
			clocktest.Pass(20 * time.Millisecond)
		}
		clocktest.Pass(10 * time.Second)
		synctest.Wait()
		if got, _ := reads.output(); len(got) != total || reads.ended() != nil {
			t.Errorf("the one that reads got %d of %d bytes, ended with %v", len(got), total, reads.ended())
		}
		select {
		case <-stuck.Cut():
		default:
			t.Error("the one that does not read was not cut off")
		}
		if _, err := stuck.Next(t.Context()); err != ErrSlow || stuck.Why() != ErrSlow {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestABurstInOneFramesPauseDoesNotCutOffOneWhoReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		ids := s.link().opened()
		const total = maxUnread + maxUnread/2
		s.emit(ids, "x")
		synctest.Wait()
		s.emit(ids, strings.Repeat("q", total-1))
		clocktest.Pass(3 * time.Second)
		synctest.Wait()
		if got, _ := p.output(); len(got) != total || p.ended() != nil {
			t.Errorf("%d of %d bytes, ended with %v", len(got), total, p.ended())
		}
		s.emit(ids, strings.Repeat("q", maxUnsent+1))
		<-p.done
		if p.ended() != ErrSlow {
			t.Errorf("without any bound: ended with %v", p.ended())
		}
	})
}

func TestALostUplinkIsToldAndTheRelayComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		s.join("b", runA)
		_ = s.sends("a", resize)
		old := s.link().opened()
		s.said()
		s.setLink(nil)
		s.hub.HostGone(hostA)
		s.hub.HostGone(hostA) // sent once
		if got := s.said(); got != "a:host_not_connected b:host_not_connected" {
			t.Errorf("told %q", got)
		}
		_ = s.sends("a", input("lost"))
		_ = s.sends("a", `{"type":"resize","rows":30,"cols":90}`)
		if got := s.said(); got != "a:host_not_connected" {
			t.Errorf("input without an uplink: told %q", got)
		}
		fresh := &fakeLink{caps: []string{wire.CapAttach}}
		s.setLink(fresh)
		s.hub.HostBack(hostA)
		synctest.Wait()
		ids := fresh.opened()
		if got := fmt.Sprint(fresh.take()); got != "[open 11/1 30x90 open 11/1 30x90]" {
			t.Errorf("the new uplink got %s", got)
		}
		s.emit(old, "stale")
		s.emit(ids, "redrawn")
		_ = s.sends("a", input("back"))
		if got, _ := p.output(); got != "redrawn" {
			t.Errorf("got %q", got)
		}
		if got := fmt.Sprint(fresh.take()); got != "[close close input back]" {
			t.Errorf("the new uplink got %s", got) // relays that are not needed any more are closed
		}
		if got, told := s.journal(), s.said(); got != "acquired/1" || told != "" {
			t.Errorf("the lease stays: journal %q, told %q", got, told)
		}
	})
}

func TestAnUplinkThatReplacesAnotherGetsTheRelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		fresh := &fakeLink{caps: []string{wire.CapAttach}}
		s.setLink(fresh)
		s.hub.HostBack(hostA)
		if got := fmt.Sprint(fresh.take()); got != "[close open 11/1 50x220]" {
			t.Errorf("the new uplink got %s", got)
		}
		s.setLink(&fakeLink{caps: []string{wire.CapAttach}, broken: true})
		s.said()
		_ = s.sends("a", input("x"))
		s.hub.HostBack(hostA)
		if got := s.said(); got != "a:host_not_connected a:host_not_connected" {
			t.Errorf("told %q", got)
		}
		s.setLink(&fakeLink{})
		s.hub.HostBack(hostA)
		if got := s.said(); got != "a:capability_missing" {
			t.Errorf("told %q", got)
		}
	})
}

// A client that attaches when a new uplink has just connected has a relay on it before HostBack is called. HostBack
// must not replace it: the input to the first relay would be lost, because its terminal ends before it has read the
// input.
func TestARelayOnAnUplinkThatHasJustComeIsNotReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		_ = s.sends("a", input("x"))
		s.hub.HostBack(hostA)
		if got := fmt.Sprint(s.link().take()); got != "[open 11/1 50x220 input x]" {
			t.Errorf("the uplink got %s", got)
		}
	})
}

func TestARelayThatTheWorkerClosesIsOpenedAgainThenGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		opened := 0
		begin := time.Now()
		for p.ended() == nil && opened < 100 {
			ids := s.link().opened()
			s.link().take()
			opened += len(ids)
			for _, id := range ids {
				s.hub.FromWorker(hostA, &wire.AttachClosed{AttachID: id, Reason: "no session"})
				s.hub.FromWorker(hostA, &wire.AttachClosed{AttachID: id, Reason: "no session"})
			}
			clocktest.Pass(10 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(begin); opened != retryLimit+1 || p.ended() != ErrRelayLost || took < 10*time.Second || took > 30*time.Second {
			t.Errorf("%d tries in %v, then %v", opened, took, p.ended())
		}
		synctest.Wait()
		if got := s.journal(); got != "acquired/1 released/1" {
			t.Errorf("journal %q", got)
		}
	})
}

func TestARelayThatLastedIsAlwaysOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.join("a", runA)
		for range 3 * retryLimit {
			clocktest.Pass(retrySteady)
			ids := s.link().opened()
			if len(ids) != 1 {
				t.Fatalf("%d relays", len(ids))
			}
			s.link().take()
			s.hub.FromWorker(hostA, &wire.AttachClosed{AttachID: ids[0]})
			clocktest.Pass(retryFirst)
			synctest.Wait()
		}
		if p.ended() != nil {
			t.Errorf("ended with %v", p.ended())
		}
	})
}

func TestAttachingNeedsAnUplinkThatCan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		if err := s.hub.Ready(hostA); err != nil {
			t.Error(err)
		}
		if got := svc.CodeOf(s.hub.Ready(hostB)); got != svc.CodeHostNotConnected {
			t.Errorf("no uplink: %s", got)
		}
		s.setLink(&fakeLink{})
		if got := svc.CodeOf(s.hub.Ready(hostA)); got != svc.CodeCapabilityMissing {
			t.Errorf("no capability: %s", got)
		}
	})
}

func TestOutputOfARelayThatNoOneWantsClosesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.emit([]string{"unknown"}, "x")
		if got := fmt.Sprint(s.link().take()); got != "[close]" {
			t.Errorf("the worker got %s", got)
		}
	})
}

func TestShutdownEndsEveryoneAndTellsTheLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var journal []bool
		link := &fakeLink{caps: []string{wire.CapAttach}}
		h := NewAttachments(AttachConfig{
			Link:      func(string) (Link, bool) { return link, true },
			OnLease:   func(e LeaseEvent) { journal = append(journal, e.Acquired) },
			OnInput:   func(string, string) {},
			LeaseIdle: func() time.Duration { return 0 },
			Log:       quiet(),
		})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); _ = h.Run(ctx) }()
		reads, err := h.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann)
		if err != nil {
			t.Fatal(err)
		}
		stuck, err := h.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann)
		if err != nil {
			t.Fatal(err)
		}
		p := &person{a: reads, done: make(chan struct{})}
		go p.read()
		go func() { <-stuck.Cut(); stuck.Leave() }()
		synctest.Wait()
		cancel()
		<-over
		if p.ended() != ErrShutdown || stuck.Why() != ErrShutdown || fmt.Sprint(journal) != "[true false]" {
			t.Errorf("ended with %v and %v, journal %v", p.ended(), stuck.Why(), journal)
		}
		if _, err := h.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann); !errors.Is(err, ErrShutdown) {
			t.Errorf("joining afterwards: %v", err)
		}
	})
}
