package asciicast_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/asciicast"
)

func TestARecordingComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	header := asciicast.Header{Width: 220, Height: 50, Timestamp: 1763366400, Title: `DEMO-1 "<fix>"`}
	events := []asciicast.Event{
		{At: 0, Kind: asciicast.Output, Data: "\x1b[1mhé \u2028</b>\r\n"},
		{At: 12 * time.Millisecond, Kind: asciicast.Resize, Data: asciicast.Size(80, 24)},
		{At: 61*time.Minute + 3*time.Millisecond, Kind: asciicast.Marker, Data: "run.finished"},
	}
	var text bytes.Buffer
	w, err := asciicast.NewWriter(&text, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"version":2,"width":220,"height":50,"timestamp":1763366400,"title":"DEMO-1 \"<fix>\""}` + "\n" +
		`[0.000,"o","\u001b[1mhé \u2028</b>\r\n"]` + "\n" + `[0.012,"r","80x24"]` + "\n" + `[3660.003,"m","run.finished"]` + "\n"
	if text.String() != want {
		t.Errorf("it is\n%s, want\n%s", text.String(), want)
	}
	r, err := asciicast.NewReader(&text)
	if err != nil {
		t.Fatal(err)
	}
	if header.Version = 2; r.Header != header {
		t.Errorf("header is %+v", r.Header)
	}
	var got []asciicast.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.Equal(got, events) {
		t.Errorf("events are %v, want %v", got, events)
	}
}

func TestRecordingsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	const head = `{"version": 2, "width": 80, "height": 24, "env": {"TERM": "xterm"}}` + "\n"
	r, err := asciicast.NewReader(strings.NewReader(head + "\n[0.5, \"i\", \"x\"]\n[0.4, \"o\", \"" + strings.Repeat("x", 200_000) + "\", 7]"))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := r.Next(); err != nil || e.Kind != "i" || e.At != 500*time.Millisecond {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := r.Next(); err != nil || e.At != 500*time.Millisecond || len(e.Data) != 200_000 {
		t.Errorf("an event that goes back: %v with %d bytes, %v", e.At, len(e.Data), err)
	}
	for _, text := range []string{"", "{}", "x\n", `{"version":1,"width":80,"height":24}`, `{"version":2,"width":0,"height":24}`} {
		if _, err := asciicast.NewReader(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a recording", text)
		}
	}
	for _, line := range []string{"{}", "[1]", `[-1,"o","x"]`, `["1","o","x"]`, `[1,"o",2]`, `[1e300,"o","x"]`} {
		r, err := asciicast.NewReader(strings.NewReader(head + line + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s is the event %+v, %v", line, e, err)
		}
	}
}

func TestSizesAreReadWhole(t *testing.T) {
	t.Parallel()
	if cols, rows, ok := asciicast.ParseSize(asciicast.Size(100, 30)); cols != 100 || rows != 30 || !ok {
		t.Errorf("%dx%d, %v", cols, rows, ok)
	}
	for _, text := range []string{"", "80", "80x", "x24", "0x24", "80x24x1", "-1x2"} {
		if cols, rows, ok := asciicast.ParseSize(text); ok {
			t.Errorf("%q is %dx%d", text, cols, rows)
		}
	}
}
