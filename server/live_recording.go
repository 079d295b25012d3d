package server

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"svc"
	"svc/asciicast"
	"svc/engine"
	"svc/wire"
)

// Recording streams the recording of an attempt: its log with the times of its bytes, and the run's events as
// markers.
func (l *Live) Recording(w http.ResponseWriter, r *http.Request) {
	run, err := l.Runs.Run(r.Context(), r.PathValue("id"))
	if err != nil {
		writeError(w, r, err)
		return
	}
	attempt, err := attemptQuery(r.URL.Query(), run.Attempt)
	if err != nil {
		writeError(w, r, err)
		return
	}
	if attempt <= run.Attempt {
		if err := l.fetchLogs(w, r, run, attempt); err != nil {
			writeError(w, r, err)
			return
		}
	}
	log, err := l.Runs.OpenLog(r.Context(), run.ID, engine.LogQuery{Attempt: attempt, Tail: -1})
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer log.Close()
	times, first, err := l.timesOf(run, attempt) // after the log was opened, so that all its bytes have times
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer times.Close()
	w.Header().Set("Content-Type", asciicast.MediaType)
	out := bufio.NewWriterSize(newPaced(w, cmp.Or(l.stall, writeLimit)), 64<<10)
	p := &player{log: log, times: times, marks: l.markers(r.Context(), run.ID, attempt, first.At)}
	p.out, err = asciicast.NewWriter(out, castHeader(run, attempt, first))
	if err == nil {
		err = p.play(first)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		if r.Context().Err() == nil {
			noteError(r.Context(), err)
		}
		panic(http.ErrAbortHandler) // an incomplete recording must not look complete
	}
}

// attemptQuery returns the requested attempt; by default the last one.
func attemptQuery(v url.Values, last int) (int, error) {
	text := v.Get("attempt")
	if text == "" {
		return max(last, 1), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, svc.Invalid("attempt", "must be the number of an attempt, from 1")
	}
	return n, nil
}

// timesOf opens the times of an attempt and reads the first one. Without any times there is no recording.
func (l *Live) timesOf(run svc.Run, attempt int) (*engine.LogTimes, wire.LogTime, error) {
	none := svc.Errorf(svc.CodeNoRecording, "there is no recording of attempt %d of run %s: its host did not record the times of its output; `svc run logs` has the output",
		attempt, run.ID)
	times, err := l.Runs.LogTimes(run.ID, attempt)
	if err != nil {
		return nil, wire.LogTime{}, err
	}
	if times == nil {
		return nil, wire.LogTime{}, none
	}
	first, err := times.Next()
	if errors.Is(err, io.EOF) {
		err = none
	}
	if err != nil {
		_ = times.Close() // only read from
	}
	return times, first, err
}

// The terminal size when the worker did not report one.
const unknownCols, unknownRows = 80, 24

func castHeader(run svc.Run, attempt int, first wire.LogTime) asciicast.Header {
	return asciicast.Header{
		Width: cmp.Or(first.Cols, unknownCols), Height: cmp.Or(first.Rows, unknownRows), Timestamp: first.At / 1000,
		Title: fmt.Sprintf("%s %s, run %s, attempt %d", run.TaskRef(), run.TaskTitle, run.ID, attempt),
	}
}

// player writes a recording from a log, its times and its markers, which it reads in parallel.
type player struct {
	out     *asciicast.Writer
	log     io.Reader
	times   *engine.LogTimes
	marks   *markers
	now     int64  // milliseconds since the start
	at      int64  // bytes of the log that were read
	partial []byte // the first bytes of an incomplete character, not yet written
	ended   bool   // a marker for the end of the attempt was written
}

// play writes the recording. The size in the first time is already in the header.
func (p *player) play(first wire.LogTime) error {
	first.Cols = 0
	for at := first; ; {
		whole, err := p.outputUntil(at.Offset)
		if err != nil {
			return err
		}
		if !whole { // times of bytes that are not in the log
			break
		}
		if err := p.proceed(at.Ms); err != nil {
			return err
		}
		if at.Cols > 0 {
			if err := p.write(asciicast.Resize, asciicast.Size(at.Cols, at.Rows)); err != nil {
				return err
			}
		}
		at, err = p.times.Next()
		if errors.Is(err, io.EOF) {
			_, err = p.outputUntil(math.MaxInt64)
			if err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	if err := p.write(asciicast.Output, string(p.partial)); err != nil {
		return err
	}
	return p.markRest()
}

// outputUntil writes the log up to an offset. It returns false when the log ends before that.
func (p *player) outputUntil(offset int64) (bool, error) {
	buf := make([]byte, 32<<10)
	for p.at < offset {
		n, err := p.log.Read(buf[:min(int64(len(buf)), offset-p.at)])
		p.at += int64(n)
		text := append(p.partial, buf[:n]...)
		whole := wire.WholeCharacters(text)
		if err := p.write(asciicast.Output, string(whole)); err != nil {
			return false, err
		}
		p.partial = append(p.partial[:0], text[len(whole):]...)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (p *player) write(kind asciicast.Kind, data string) error {
	if data == "" {
		return nil
	}
	return p.out.Write(asciicast.Event{At: time.Duration(p.now) * time.Millisecond, Kind: kind, Data: data})
}

// proceed advances the time and writes the markers up to it.
func (p *player) proceed(ms int64) error {
	for {
		m, ok, err := p.marks.next(ms)
		if err != nil {
			return err
		}
		if !ok {
			p.now = max(p.now, ms)
			return nil
		}
		if err := p.mark(m); err != nil {
			return err
		}
	}
}

// markRest writes the markers after the last output, up to the one for the end of the attempt. Later events are not
// part of the recording.
func (p *player) markRest() error {
	for !p.ended {
		m, ok, err := p.marks.next(math.MaxInt64)
		if err != nil || !ok {
			return err
		}
		if err := p.mark(m); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) mark(m marker) error {
	p.ended = p.ended || m.ends
	p.now = max(p.now, m.ms)
	return p.write(asciicast.Marker, m.label)
}

// marker is an event of the run in a recording.
type marker struct {
	ms    int64
	label string
	ends  bool // it is the end of the attempt
}

// markers reads the events of an attempt from the journal, oldest first.
type markers struct {
	read    func(after int64) ([]svc.Event, int64, error)
	attempt int
	start   int64 // start of the recording, in milliseconds since 1970
	events  []svc.Event
	until   int64 // seq up to which events were read
	over    bool
}

// markTopics are the topics that become markers: all except run.output_appended, because the recording shows the
// output.
var markTopics = func() (topics svc.Globs) {
	for _, t := range svc.Topics {
		if t != svc.TopicRunOutput {
			topics = append(topics, string(t))
		}
	}
	return topics
}()

// markers returns the markers of a recording that began at start; 0: the start is not known, and there are no
// markers.
func (l *Live) markers(ctx context.Context, runID string, attempt int, start int64) *markers {
	m := &markers{attempt: attempt, start: start, over: start == 0 || l.Runs.Events == nil}
	m.read = func(after int64) ([]svc.Event, int64, error) {
		return l.Runs.Events(ctx, svc.EventFilter{Topics: markTopics, Subjects: svc.Subjects{RunID: runID}}, after)
	}
	return m
}

// next returns the next marker up to a time.
func (m *markers) next(until int64) (marker, bool, error) {
	for {
		for len(m.events) == 0 && !m.over {
			events, seq, err := m.read(m.until)
			if err != nil {
				return marker{}, false, err
			}
			m.events, m.over, m.until = events, len(events) == 0, seq
		}
		if len(m.events) == 0 {
			return marker{}, false, nil
		}
		e := m.events[0]
		at := marker{ms: max(int64(e.CreatedAt)-m.start, 0), label: string(e.Topic)}
		if at.ms > until {
			return marker{}, false, nil
		}
		m.events = m.events[1:]
		var payload struct {
			Attempt int `json:"attempt"`
		}
		if json.Unmarshal(e.Payload, &payload) != nil || payload.Attempt != m.attempt {
			continue
		}
		switch e.Topic {
		case svc.TopicRunFinished, svc.TopicRunFailed, svc.TopicRunStopped, svc.TopicRunSessionEnded:
			at.ends = true
		}
		return at, true, nil
	}
}
