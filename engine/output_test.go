package engine

import (
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func (w *worker) log(r svc.Run, text string, offset int64) {
	w.s.t.Helper()
	w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText(text), Timestamp: 1, Attempt: r.Attempt, Offset: &offset, Bytes: len(text)})
	w.s.settle()
}

func TestOutputIsToldInNumbersAndNotTooOften(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := w.started(s.run())
		s.pass(time.Second)
		w.log(r, "secret one\n", 0)
		first := s.wantTopics(svc.TopicRunOutput)[0] // at once
		if field(first, "line_count") != 1.0 || field(first, "byte_count") != 11.0 || field(first, "attempt") != 1.0 || field(first, "timestamp") == nil {
			t.Errorf("journaled %s", first.Payload)
		}
		if got := s.get(r); got.LastOutputAt == nil || *got.LastOutputAt != s.now() {
			t.Errorf("last output at %v", got.LastOutputAt)
		}
		offset := int64(11)
		told := 0
		for range 100 { // ten seconds of output
			w.log(r, "secret\n", offset)
			offset += 7
			s.pass(100 * time.Millisecond)
			told += len(s.news())
		}
		if told < 1 || told > 3 {
			t.Errorf("ten seconds of flow were told in %d events", told)
		}
		w.log(r, "the last", offset)
		at := s.now()
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantTopics(svc.TopicRunOutput, svc.TopicRunFinished)
		if got := s.get(r); *got.LastOutputAt != at {
			t.Errorf("last output at %v, want the last chunk's %v", *got.LastOutputAt, at)
		}
		events, err := s.Store.EventsAfter(s.ctx, 0, 1000)
		s.no(err)
		var lines, bytes float64
		for _, e := range events {
			if e.Topic == svc.TopicRunOutput {
				n, _ := field(e, "line_count").(float64)
				lines += n
				n, _ = field(e, "byte_count").(float64)
				bytes += n
			}
			if strings.Contains(string(e.Payload), "secret") {
				t.Errorf("%s holds output: %s", e.Topic, e.Payload)
			}
		}
		if lines != 101 || int64(bytes) != offset+8 {
			t.Errorf("the sums are %v lines and %v bytes, want 101 and %d", lines, bytes, offset+8)
		}
	})
}

func TestLogChunksAreKeptOnceAtTheirOffsets(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		acks := func(want ...int64) {
			t.Helper()
			frames := w.take()
			if len(frames) != len(want) {
				t.Fatalf("%d answers, want %d", len(frames), len(want))
			}
			for i, f := range frames {
				if got := f.(*wire.LogAck); got.Offset != want[i] || got.RunID != r.ID || got.Attempt != 1 {
					t.Errorf("acknowledged %+v, want offset %d", got, want[i])
				}
			}
		}
		w.log(r, "abc", 0)
		acks(3)
		w.log(r, "abc", 0)
		acks(3) // not appended again
		w.log(r, "x", 9)
		acks(3) // after a gap
		w.log(r, "def", 3)
		acks(6)
		w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText("!"), Timestamp: 1})
		w.wantFrames() // a chunk without an offset is appended and not acknowledged
		future := r
		future.Attempt = 2
		w.log(future, "x", 0)
		w.wantFrames("error invalid_attempt")
		stranger := s.online("other")
		stranger.log(r, "x", 7)
		stranger.wantFrames("error forbidden")
	})
}

func TestOutputIsToldWhenTheEngineStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "a\n", 0)
		w.log(r, "b\n", 2)
		s.wantTopics(svc.TopicRunOutput)
		seen := s.seen
		s.stop()
		s = start(t, dir)
		s.seen = seen
		if e := s.wantTopics(svc.TopicRunOutput)[0]; field(e, "line_count") != 1.0 {
			t.Errorf("journaled %s", e.Payload)
		}
	})
}

func TestTheLastOutputIsToldBeforeTheEnd(t *testing.T) {
	const chunks = 200
	for name, end := range map[string]func(*site, *worker, svc.Run){
		"finished behind it on the uplink": func(s *site, w *worker, r svc.Run) {
			w.send(wire.SignalFrame{RunID: r.ID, Signal: wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: 1, Source: svc.FromWrapper, Timestamp: 1})})
		},
		"a hook's failed": func(s *site, _ *worker, r svc.Run) {
			s.settle()
			s.want(svc.Applied)(s.signal(r, svc.SignalFailed, byHook))
		},
		"a stop": func(s *site, _ *worker, r svc.Run) {
			s.settle()
			_, err := s.StopRun(s.ctx, r.ID)
			s.no(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := w.started(s.run())
				for range chunks - 1 {
					w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText("x\n"), Timestamp: 1})
				}
				// A large chunk is slow to be written.
				w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText(strings.Repeat("x", 8<<20) + "\n"), Timestamp: 1})
				end(s, w, r)
				events := s.news()
				s.pass(10 * time.Second)
				if late := s.news(); len(late) != 0 {
					t.Errorf("after the end came %s %s", late[0].Topic, late[0].Payload)
				}
				lines := 0.0
				for i, e := range events {
					if n, ok := field(e, "line_count").(float64); ok {
						lines += n
					} else if i != len(events)-1 {
						t.Errorf("%s is not the last of %d events", e.Topic, len(events))
					}
				}
				if lines != chunks {
					t.Errorf("%v lines were told before the end, want %d", lines, chunks)
				}
			})
		})
	}
}
