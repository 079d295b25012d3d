package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
	"svc/wire"
)

// wireTap is a connection that records each frame with its time.
type wireTap struct {
	wire.Conn
	began time.Time

	mu   sync.Mutex // guards what follows
	sent []sentFrame
}

type sentFrame struct {
	kind string
	at   time.Duration
}

func (c *wireTap) Write(_ context.Context, b []byte) error {
	f, err := wire.DecodeUp(b)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, sentFrame{f.Type(), time.Since(c.began)})
	return nil
}

// all returns the frames that were sent so far.
func (c *wireTap) all() []sentFrame {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// tapped returns, in a bubble, an outbox that writes until the test ends.
func tapped(t *testing.T) (*outbox, *wireTap) {
	t.Helper()
	o, tap := newOutbox(), &wireTap{began: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- o.write(ctx, tap) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return o, tap
}

func chunk() *wire.LogChunk {
	return &wire.LogChunk{RunID: "0b0e6c0a-7f1c-4f5e-9d55-0d5f1a3f7a10", Text: wire.LogText("x"), Attempt: 1}
}

func TestLogsGiveWayToAKeyAndThenGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, tap := tapped(t)
		o.delayLogs()
		o.push(laneLog, chunk(), nil)
		clocktest.Pass(keyLead / 2)
		o.push(laneAttach, &wire.AttachData{AttachID: "one", Bytes: []byte("k")}, nil)
		clocktest.Pass(time.Second)
		want := []sentFrame{{"attach_data", keyLead / 2}, {"log_chunk", keyLead}}
		if sent := tap.all(); !slices.Equal(sent, want) {
			t.Errorf("sent %v, want %v", sent, want)
		}
		o.push(laneLog, chunk(), nil)
		if sent := tap.all(); len(sent) != 3 || sent[2].at != keyLead/2+time.Second {
			t.Errorf("sent %v, the last of them long after a key", sent)
		}
	})
}

func TestLogsAreNotHeldForeverByOneWhoTypesWithoutAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, tap := tapped(t)
		const typing = 10 * time.Second
		for time.Since(tap.began) < typing {
			o.delayLogs()
			o.push(laneLog, chunk(), nil)
			clocktest.Pass(time.Millisecond)
		}
		var last, worst time.Duration
		free := map[time.Duration]bool{}
		for _, f := range tap.all() {
			worst = max(worst, f.at-last)
			last = f.at
			free[f.at] = true
		}
		if worst > mostHeld+time.Millisecond {
			t.Errorf("logs were held for %v", worst)
		}
		if part := float64(len(free)) / (typing.Seconds() * 1000); part < 0.1 {
			t.Errorf("logs had the way for %.2f of the time", part)
		}
	})
}

func TestASlowTypistHoldsLogsForEachKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, tap := tapped(t)
		for range 10 {
			o.delayLogs()
			o.push(laneLog, chunk(), nil)
			before := len(tap.all())
			clocktest.Pass(keyLead - time.Millisecond)
			if sent := tap.all(); len(sent) != before {
				t.Fatalf("a chunk left before its time: %v", sent)
			}
			clocktest.Pass(10 * time.Millisecond)
			if sent := tap.all(); len(sent) != before+1 {
				t.Fatalf("the chunk did not follow: %v", sent)
			}
		}
	})
}

func TestLessOfALogIsUnderWayWhileSomeoneTypes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLink(nil, nil)
		want := func(when string, bytes int64) {
			t.Helper()
			if got := l.window(); got != bytes {
				t.Errorf("%s: %d bytes may be under way, want %d", when, got, bytes)
			}
		}
		want("alone", windowAlone)
		l.attached.Add(1)
		want("while someone watches", windowAttached)
		l.out.delayLogs()
		want("after a key", windowTyping)
		clocktest.Pass(typingOn)
		want("between two keys", windowTyping)
		clocktest.Pass(keyLead)
		want("after the last key", windowAttached)
		l.attached.Add(-1)
		want("alone again", windowAlone)
	})
}
