package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hinshun/vt10x"
	"pgregory.net/rapid"

	"svc"
	"svc/asciicast"
	"svc/engine"
	"svc/hub"
	"svc/wire"
)

// readCast reads a whole recording.
func readCast(text string) (h asciicast.Header, events []asciicast.Event, err error) {
	r, err := asciicast.NewReader(strings.NewReader(text))
	if err != nil {
		return h, nil, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header, events, nil
		}
		if err != nil {
			return h, nil, err
		}
		events = append(events, e)
	}
}

// outputOf returns the output in a recording.
func outputOf(events []asciicast.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == asciicast.Output {
			b.WriteString(e.Data)
		}
	}
	return b.String()
}

func (s *liveStage) record(run svc.Run, attempt int, at int64, text string, times ...wire.LogTime) {
	s.Helper()
	if _, err := s.hub.Relay.Append("", run.ID, attempt, &at, []byte(text), times...); err != nil {
		s.Fatal(err)
	}
}

func TestARecordingHasOutputSizesAndMarkers(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunExited)
	run.ProjectSlug, run.TaskNumber, run.TaskTitle = "demo", 7, "Fix\x1b it"
	s.setRun(run)
	began := int64(1_763_366_400_500)
	mark := func(seq int64, ms int64, topic svc.Topic, attempt int) svc.Event {
		return svc.Event{Seq: seq, Topic: topic, CreatedAt: svc.Time(began + ms), Payload: fmt.Appendf(nil, `{"run_id":%q,"attempt":%d}`, run.ID, attempt)}
	}
	journal := []svc.Event{
		mark(1, -5000, svc.TopicRunSpawning, 1), mark(2, 30, svc.TopicRunStarted, 1), mark(3, 700, svc.TopicRunSignal, 1), mark(4, 710, svc.TopicRunSignal, 2),
		mark(5, 4000, svc.TopicRunFinished, 1), mark(6, 9000, svc.TopicRunLeaseAcquired, 1),
	}
	s.live.Runs.Events = func(_ context.Context, f svc.EventFilter, after int64) ([]svc.Event, int64, error) {
		if f.Subjects.RunID != run.ID || f.Topics.Match(svc.TopicRunOutput) || !f.Topics.Match(svc.TopicRunSignal) {
			t.Errorf("asked for %+v", f)
		}
		if rest := journal[min(after, int64(len(journal))):]; len(rest) > 0 {
			return rest[:1], after + 1, nil // one page at a time
		}
		return nil, int64(len(journal)), nil
	}
	s.record(run, 1, 0, "one\xc3", wire.LogTime{Cols: 220, Rows: 50, At: began}, wire.LogTime{Ms: 20}, wire.LogTime{Ms: 40, Offset: 1, Cols: 100, Rows: 30})
	s.record(run, 1, 4, "\xa9 two\xff", wire.LogTime{Ms: 800, Offset: 4})

	a := s.get("/runs/" + run.ID + "/recording")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/x-asciicast" {
		t.Fatalf("%d %q %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	h, events, err := readCast(a.body)
	if err != nil {
		t.Fatal(err)
	}
	if want := (asciicast.Header{Version: 2, Width: 220, Height: 50, Timestamp: began / 1000, Title: "DEMO-7 Fix\x1b it, run " + run.ID + ", attempt 1"}); h != want {
		t.Errorf("header is %+v, want %+v", h, want)
	}
	at := func(ms int64, kind asciicast.Kind, data string) asciicast.Event {
		return asciicast.Event{At: time.Duration(ms) * time.Millisecond, Kind: kind, Data: data}
	}
	want := []asciicast.Event{
		at(0, "m", "run.spawning"), at(20, "o", "o"), at(30, "m", "run.started"), at(40, "r", "100x30"), at(40, "o", "ne"),
		at(700, "m", "run.signal_received"), at(800, "o", "é two\uFFFD"), at(4000, "m", "run.finished"),
	}
	if !slices.Equal(events, want) {
		t.Errorf("events are %v, want %v", events, want)
	}
}

func TestARunWithoutTimesHasNoRecording(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	plain, silent, timed := s.newRun(svc.RunExited), s.newRun(svc.RunPending), s.newRun(svc.RunExited)
	s.append(plain, 1, "from before")
	s.record(timed, 1, 0, "x", wire.LogTime{Ms: 1})
	for path, want := range map[string]string{
		plain.ID + "/recording": "no_recording", silent.ID + "/recording": "no_recording", timed.ID + "/recording?attempt=2": "no_recording",
		svc.NewRunID() + "/recording": "not_found", timed.ID + "/recording?attempt=0": "validation_failed", timed.ID + "/recording?attempt=x": "validation_failed",
	} {
		a := s.get("/runs/" + path)
		status := http.StatusNotFound
		if want == "validation_failed" {
			status = http.StatusBadRequest
		}
		if a.status != status || a.code() != want || status == http.StatusBadRequest && !strings.Contains(a.body, "attempt") {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
	if a := s.get("/runs/" + timed.ID + "/recording?attempt=1"); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestARecordingThatIsCutShortDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunExited)
	s.record(run, 1, 0, strings.Repeat("x", 1<<20), wire.LogTime{At: 1, Cols: 80, Rows: 24})
	s.record(run, 1, 1<<20, "y", wire.LogTime{Ms: 9, Offset: 1 << 20})
	calls := 0
	s.live.Runs.Events = func(context.Context, svc.EventFilter, int64) ([]svc.Event, int64, error) {
		if calls++; calls > 1 {
			return nil, 0, errors.New("the database is gone")
		}
		return []svc.Event{{Seq: 1, Topic: svc.TopicRunStarted, Payload: json.RawMessage(`{"attempt":1}`)}}, 1, nil
	}
	res, err := s.server.Client().Get(s.server.URL + "/runs/" + run.ID + "/recording")
	if err != nil {
		return // it failed before the header
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%d: it ended as if it were whole, after %d bytes", res.StatusCode, len(body))
	}
}

// TestARecordingPlayedBackIsTheLog relays arbitrary bytes with arbitrary times in arbitrary pieces, some of them
// twice, across restarts of the orchestrator. The output of the recording is the log, each byte at its time.
func TestARecordingPlayedBackIsTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"é", "世", "🌍", "a", "\x1b[1m", "\xff", "\xf0\x9f", "\r\n", "\"\\", "\u2028", "\x00"}), 1, 60).Draw(t, "log"), ""))
		times := drawTimes(t, log)
		_, events := relayed(t, log, times)
		want := strings.Map(func(r rune) rune { return r }, string(log)) // each invalid byte is U+FFFD
		if got := outputOf(events); got != want {
			t.Fatalf("it gives %q, want %q", got, want)
		}
		// Each character has the time of its last byte, or of a later byte when that byte shows that it is invalid.
		read := 0
		for _, e := range events {
			for _, c := range e.Data {
				_, size := utf8.DecodeRune(log[read:])
				read += size
				i, _ := slices.BinarySearchFunc(times, int64(read), func(lt wire.LogTime, at int64) int { return int(lt.Offset - at) })
				if due := time.Duration(times[max(i-1, 0)].Ms) * time.Millisecond; e.At < due || c != '\uFFFD' && e.At != due {
					t.Fatalf("the character %q that ends with byte %d comes at %v, want %v", c, read, e.At, due)
				}
			}
		}
	})
}

// drawTimes draws times for the bytes of a log, in arbitrary pieces.
func drawTimes(t *rapid.T, log []byte) (times []wire.LogTime) {
	for at, ms := int64(0), int64(0); at < int64(len(log)); {
		times = append(times, wire.LogTime{Ms: ms, Offset: at})
		at, ms = at+rapid.Int64Range(1, 20).Draw(t, "bytes"), ms+rapid.Int64Range(50, 5000).Draw(t, "ms")
	}
	return times
}

// relayed returns the recording of a log that was relayed in arbitrary pieces, some of them twice, across restarts of
// the orchestrator.
func relayed(t *rapid.T, log []byte, times []wire.LogTime) (asciicast.Header, []asciicast.Event) {
	dir, err := os.MkdirTemp("", "cast")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := svc.Run{ID: svc.NewRunID(), Attempt: 1, Status: svc.RunRunning}
	relay := hub.NewRelay(dir, slog.New(slog.DiscardHandler))
	defer func() { relay.Close() }()
	for at := int64(0); at < int64(len(log)); {
		to := min(at+rapid.Int64Range(1, 30).Draw(t, "piece"), int64(len(log)))
		part := slices.DeleteFunc(slices.Clone(times), func(lt wire.LogTime) bool { return lt.Offset < at || lt.Offset >= to })
		for range rapid.IntRange(1, 2).Draw(t, "sent") {
			if _, err := relay.Append("", run.ID, 1, &at, log[at:to], part...); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "restart") {
			relay.Close()
			relay = hub.NewRelay(dir, slog.New(slog.DiscardHandler))
		}
		at = to
	}
	live := &Live{Runs: &engine.Live{Run: oneRun{run}.Run, Hub: &hub.Hub{Relay: relay}}}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.SetPathValue("id", run.ID)
	answer := httptest.NewRecorder()
	live.Recording(answer, request)
	header, events, err := readCast(answer.Body.String())
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%d: %v", answer.Code, err)
	}
	return header, events
}

// TestASeekShowsWhatAStraightPlayShows seeks to positions of a recording in arbitrary order. The screen at a position
// is that of a terminal that received the log byte by byte up to there, with its changes of size.
func TestASeekShowsWhatAStraightPlayShows(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"word ", "é─", "世", "\r\n", "\r", "\t", "\b", "\x1b[1;31m", "\x1b[0m", "\x1b[38;5;208m", "\x1b[H", "\x1b[3;7H", "\x1b[2K", "\x1b[J", "\x1b[2A", "\x1b[5C",
		"\x1b[2L", "\x1b[M", "\x1b[3P", "\x1b[2;4r", "\x1b[r", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h", "\x1b7", "\x1b8", "\x1bM", "\x1b]0;title\x07", "\x1bc",
	}
	rapid.Check(t, func(t *rapid.T) {
		log := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 80).Draw(t, "log"), ""))
		times := drawTimes(t, log)
		for i := range times {
			if i == 0 || rapid.IntRange(0, 5).Draw(t, "resized") == 0 {
				times[i].Cols, times[i].Rows = rapid.IntRange(8, 30).Draw(t, "cols"), rapid.IntRange(4, 9).Draw(t, "rows")
			}
		}
		header, events := relayed(t, log, times)
		for range 5 {
			moment := rapid.Int64Range(0, times[len(times)-1].Ms+100).Draw(t, "moment")
			straight := newScreen(times[0].Cols, times[0].Rows)
			for i, lt := range times {
				if lt.Ms > moment {
					break
				}
				until := int64(len(log))
				if i+1 < len(times) {
					until = times[i+1].Offset
				}
				straight.resize(lt.Cols, lt.Rows)
				for _, b := range log[lt.Offset:until] {
					straight.write(string([]byte{b}))
				}
			}
			sought := newScreen(header.Width, header.Height)
			output := ""
			for _, e := range events {
				if e.At > time.Duration(moment)*time.Millisecond {
					break
				}
				if e.Kind == asciicast.Output {
					output += e.Data
					continue
				}
				sought.write(output)
				output = ""
				cols, rows, _ := asciicast.ParseSize(e.Data)
				sought.resize(cols, rows)
			}
			sought.write(output)
			if got, want := sought.show(), straight.show(); got != want {
				t.Fatalf("at %d ms it shows\n%s\n, want\n%s", moment, got, want)
			}
		}
	})
}

// screen is a terminal that accepts incomplete characters.
type screen struct {
	vt10x.Terminal
	partial []byte
}

func newScreen(cols, rows int) *screen {
	return &screen{Terminal: vt10x.New(vt10x.WithSize(cols, rows))}
}

func (s *screen) write(text string) {
	s.partial = append(s.partial, text...)
	whole := wire.WholeCharacters(s.partial)
	_, _ = s.Write(whole) // it never fails
	s.partial = s.partial[len(whole):]
}

func (s *screen) resize(cols, rows int) {
	if cols > 0 {
		s.Resize(cols, rows)
	}
}

// show returns the size, the cursor and every cell with its attributes.
func (s *screen) show() string {
	var b strings.Builder
	cols, rows := s.Size()
	fmt.Fprintln(&b, cols, rows, s.Cursor(), s.CursorVisible(), s.Title())
	for y := range rows {
		for x := range cols {
			fmt.Fprint(&b, s.Cell(x, y))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// oneRun is a source with a single run.
type oneRun struct{ run svc.Run }

func (o oneRun) Run(context.Context, string) (svc.Run, error) { return o.run, nil }
