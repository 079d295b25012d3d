package asciicast_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/asciicast"
)

// FuzzReader reads arbitrary bytes as a recording: the events are in order, and are the same after they are written
// and read again.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"version":2,"width":80,"height":24}`, "{\"version\":2,\"width\":80,\"height\":24}\n[0.5,\"o\",\"x\"]\n\n[0.25,\"r\",\"9x9\"]\n[1e9,\"m\",\"\\ud800\"]",
		"{\"version\":2,\"width\":1,\"height\":1}\nnull\n", "{\"version\":2,\"width\":1,\"height\":1}\n[null,null,null]\n[9223372036.854775807,\"o\",\"\"]\n[1,2,3]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, recording []byte) {
		events, ok := all(recording)
		if !ok {
			return
		}
		var again bytes.Buffer
		w, err := asciicast.NewWriter(&again, asciicast.Header{Width: 80, Height: 24})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if e.At < 0 || i > 0 && e.At < events[i-1].At || !utf8.ValidString(e.Data) {
				t.Fatalf("event %d is %+v", i, e)
			}
			if cols, rows, ok := asciicast.ParseSize(e.Data); ok && (cols < 1 || rows < 1) {
				t.Fatalf("%q is a size of %dx%d", e.Data, cols, rows)
			}
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		same, _ := all(again.Bytes())
		if len(same) != len(events) {
			t.Fatalf("%d events became %d", len(events), len(same))
		}
		for i := range same {
			if same[i] != events[i] && !strings.ContainsRune(events[i].Data, utf8.RuneError) {
				t.Fatalf("%+v became %+v", events[i], same[i])
			}
		}
	})
}

// all returns the events before the first invalid line.
func all(recording []byte) (events []asciicast.Event, ok bool) {
	r, err := asciicast.NewReader(bytes.NewReader(recording))
	if err != nil {
		return nil, false
	}
	for {
		e, err := r.Next()
		if err != nil {
			return events, true
		}
		events = append(events, e)
	}
}
