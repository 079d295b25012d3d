package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/asciicast"
	"svc/internal/clocktest"
)

func TestAReplayWaitsAsLongAsItTookWithinItsLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pace     replayPace
		from, to time.Duration
		want     time.Duration
	}{
		{replayPace{speed: 1}, time.Second, 3 * time.Hour, 3*time.Hour - time.Second},
		{replayPace{speed: 1, idle: 2 * time.Second}, 0, time.Hour, 2 * time.Second},
		{replayPace{speed: 4, idle: 2 * time.Second}, 0, time.Hour, 500 * time.Millisecond},
		{replayPace{speed: 0.5, idle: 2 * time.Second}, 0, time.Second, 2 * time.Second},
		{replayPace{speed: 1}, time.Second, 0, 0},
	} {
		if got := c.pace.pause(c.from, c.to); got != c.want {
			t.Errorf("%+v from %v to %v: %v, want %v", c.pace, c.from, c.to, got, c.want)
		}
	}
}

func TestAReplayWithoutATerminalPrintsNothingThatOneObeys(t *testing.T) {
	t.Parallel()
	var cast, out bytes.Buffer
	w, err := asciicast.NewWriter(&cast, asciicast.Header{Width: 80, Height: 24, Title: evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"be", "fore\x1b]52;c;cHd", "uZWQ=\aafter ", evil} {
		for _, kind := range []asciicast.Kind{asciicast.Output, asciicast.Marker} {
			if err := w.Write(asciicast.Event{Kind: kind, Data: part}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := asciicast.NewReader(&cast)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{out: newStream(&out)}
	if err := a.printRecording(r); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\a\x7f") || !strings.HasPrefix(out.String(), "beforeafter ") {
		t.Errorf("it prints %q", out.String())
	}
}

func TestKeysStopAndLeaveAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		typed := make(chan []byte)
		p := &replayer{typed: typed}
		press := func(after time.Duration, keys string) {
			go func() {
				clocktest.Pass(after)
				typed <- []byte(keys)
			}()
		}
		began := time.Now()
		press(time.Second, " ")
		press(time.Minute, " ")
		press(2*time.Second, "x\x1b[A")
		if err := p.wait(t.Context(), 5*time.Second); err != nil || time.Since(began) < time.Minute || time.Since(began) > 66*time.Second {
			t.Errorf("it was stopped for a minute and went on after %v: %v", time.Since(began), err)
		}
		for _, key := range []string{"q", "\x03"} {
			press(time.Second, key)
			if err := p.wait(t.Context(), time.Hour); !errors.Is(err, errLeft) {
				t.Errorf("%q: %v", key, err)
			}
		}
		close(typed)
		if err := p.wait(t.Context(), time.Hour); !errors.Is(err, errLeft) {
			t.Errorf("without a keyboard: %v", err)
		}
	})
}
