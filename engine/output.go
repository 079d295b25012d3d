package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
)

// outputMeter tracks how much output runs have written, so that not every chunk needs an event in the journal: the
// first chunk after a quiet second is journaled at once, later ones at most once per interval.
//
// It keeps no sums. The meter has the length of the relayed log, the run's row has the length that is journaled, and
// an event carries the difference. So a failed unit of work, or a commit whose outcome is unknown, loses nothing and
// counts nothing twice. The meter may be lost at any moment: it is read from the log again.
// is read from the log again.
type outputMeter struct {
	interval time.Duration
	news     *wake      // something should be journaled at once
	mu       sync.Mutex // guards runs
	runs     map[string]*outputTally
}

// outputTally is how much of an attempt's log is relayed.
type outputTally struct {
	attempt     int
	log         hub.LogLength
	journaled   int64    // bytes that are journaled, as far as this process has seen
	last        svc.Time // of the newest chunk
	journaledAt svc.Time // when output was last journaled
	atOnce      bool     // journal it without waiting for the interval
}

// quietGap is the silence after which a chunk is journaled at once.
const quietGap = time.Second

// outputUnit is how many runs one unit of work journals output of.
const outputUnit = 100

func newOutputMeter(interval time.Duration) *outputMeter {
	return &outputMeter{interval: interval, news: newWake(), runs: map[string]*outputTally{}}
}

// grow records an appended chunk. It returns false when the log before the chunk is not known here: then the caller
// must read the log.
func (m *outputMeter) grow(runID string, attempt int, kept hub.Appended, now svc.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.runs[runID]
	if t == nil || t.attempt != attempt || t.log.Bytes != kept.Offset-int64(kept.Bytes) {
		return false
	}
	t.log.Bytes, t.log.Lines = kept.Offset, t.log.Lines+int64(kept.Lines)
	m.wrote(t, now)
	return true
}

// wrote decides when the newest chunk is journaled. The caller holds the lock.
func (m *outputMeter) wrote(t *outputTally, now svc.Time) {
	quiet := now.Sub(t.last) >= quietGap
	t.last = now
	if quiet || now.Sub(t.journaledAt) >= m.interval {
		t.atOnce = true
		m.news.up()
	}
}

// learn records the length of an attempt's log, as read from the log. It ignores an older attempt or a shorter
// length: that reading is out of date.
func (m *outputMeter) learn(runID string, attempt int, log hub.LogLength, journaled int64, now svc.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.runs[runID]
	switch {
	case t == nil || t.attempt < attempt:
		t = &outputTally{attempt: attempt, journaled: max(journaled, 0)}
		m.runs[runID] = t
	case t.attempt > attempt || t.log.Bytes >= log.Bytes:
		return
	}
	t.log = log
	m.wrote(t, now)
}

// of returns the tally of an attempt.
func (m *outputMeter) of(runID string, attempt int) (outputTally, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.runs[runID]
	if t == nil || t.attempt != attempt {
		return outputTally{}, false
	}
	return *t, true
}

// due returns every attempt with output to journal whose interval is over. It drops entries without news for an hour.
func (m *outputMeter) due(now svc.Time) []attemptKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []attemptKey
	for id, t := range m.runs {
		switch {
		case t.log.Bytes > t.journaled && (t.atOnce || now.Sub(t.journaledAt) >= m.interval):
			t.atOnce, t.journaledAt = false, t.last // a failed unit is tried again after the interval
			due = append(due, attemptKey{id, t.attempt})
		case t.log.Bytes <= t.journaled && now.Sub(t.last) > m.interval+time.Hour:
			delete(m.runs, id)
		}
	}
	return due
}

type attemptKey struct {
	runID   string
	attempt int
}

// committed records how much of an attempt's output is journaled.
func (m *outputMeter) committed(k attemptKey, journaled int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.runs[k.runID]; t != nil && t.attempt == k.attempt {
		t.journaled = max(t.journaled, journaled)
	}
}

// over drops an attempt that has ended, and earlier ones: no output is journaled after the end.
func (m *outputMeter) over(runID string, attempt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.runs[runID]; t != nil && t.attempt <= attempt {
		delete(m.runs, runID)
	}
}

// countOutput records an appended chunk of a run's current attempt. Output that a session writes after the end of its
// attempt is only in the log.
func (e *Engine) countOutput(r svc.Run, attempt int, kept hub.Appended) error {
	if attempt != r.Attempt || !writes(r) || e.output.grow(r.ID, attempt, kept, e.now()) {
		return nil
	}
	return e.readOutput(r)
}

// writes reports whether output of the run's current attempt is journaled.
func writes(r svc.Run) bool { return r.Status == svc.RunSpawning || r.Status == svc.RunRunning }

// readOutput reads from the log how much an attempt has written. The journaled length in r may be out of date. That
// does no harm: any length that was once journaled is a valid base to count from, because a log only grows.
func (e *Engine) readOutput(r svc.Run) error {
	known := hub.LogLength{Bytes: max(r.OutputBytes, 0), Lines: r.OutputLines}
	if t, has := e.output.of(r.ID, r.Attempt); has && t.log.Bytes > known.Bytes {
		known = t.log
	}
	log, err := e.Hub.Relay.Length(r.ID, r.Attempt, known)
	if err == nil && log.Bytes > 0 {
		e.output.learn(r.ID, r.Attempt, log, r.OutputBytes, e.now())
	}
	return err
}

// prepareEnd measures the log of a run, so that the unit of work that ends its attempt journals all of its output.
// The meter alone is not enough: a chunk may be in the log but not counted yet, on a connection that was replaced, or
// by an earlier process.
func (e *Engine) prepareEnd(ctx context.Context, runID string) {
	r, err := e.live(ctx, runID)
	if err != nil || !writes(r) {
		return // the unit of work reports the error
	}
	if err := e.readOutput(r); err != nil {
		e.Log.Error("the relayed log of a run cannot be read; its last output is not journaled", "run_id", r.ID, "error", err)
	}
}

// emitOutput journals the rest of an attempt's output, in the unit of work that ends the attempt, before the event of
// that end. The caller writes the run.
func (e *Engine) emitOutput(tx *store.Tx, r *svc.Run) {
	t, known := e.output.of(r.ID, r.Attempt)
	if !known || !t.emit(tx, *r) {
		return
	}
	r.OutputBytes, r.OutputLines, r.LastOutputAt = t.log.Bytes, t.log.Lines, t.lastOutput(*r)
}

// lastOutput returns when a run last wrote output.
func (t outputTally) lastOutput(r svc.Run) *svc.Time {
	last := max(value(r.LastOutputAt), t.last)
	return &last
}

// emit journals the output since the length in the run's row: numbers only, never text. It returns false when there
// is none.
func (t outputTally) emit(tx *store.Tx, r svc.Run) bool {
	journaled := max(r.OutputBytes, 0)
	if t.log.Bytes <= journaled {
		return false
	}
	p := r.EventPayload()
	p["byte_count"], p["line_count"], p["timestamp"] = t.log.Bytes-journaled, max(t.log.Lines-r.OutputLines, 0), t.last
	tx.Emit(svc.TopicRunOutput, p)
	return true
}

// outputLoop journals the output that is due, and at the end all that is left.
func (e *Engine) outputLoop(ctx context.Context) error {
	tick := time.NewTicker(max(min(e.OutputInterval/4, time.Second), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.journalOutput(ctx, e.output.due(e.now()))
		case <-e.output.news.c:
			e.journalOutput(ctx, e.output.due(e.now()))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			e.journalOutput(last, e.output.due(e.now().Add(e.OutputInterval)))
			return nil
		}
	}
}

func (e *Engine) journalOutput(ctx context.Context, due []attemptKey) {
	for part := range slices.Chunk(due, outputUnit) {
		if err := e.journalOutputOf(ctx, part); err != nil {
			e.Log.Error("output cannot be journaled; trying again", "error", err)
		}
	}
}

// journalOutputOf journals the output of some runs in one unit of work.
func (e *Engine) journalOutputOf(ctx context.Context, part []attemptKey) error {
	journaled := make([]int64, len(part)) // -1: the attempt is over
	rows := make([]store.Row, len(part))
	for i, k := range part {
		rows[i] = store.RunRow(k.runID)
	}
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		for i, k := range part {
			journaled[i] = -1
			r, err := tx.LockOutput(ctx, k.runID)
			if svc.CodeOf(err) == svc.CodeNotFound {
				continue
			}
			if err != nil {
				return err
			}
			t, known := e.output.of(k.runID, k.attempt)
			if !known || r.Attempt != k.attempt || !writes(r) {
				continue
			}
			journaled[i] = max(r.OutputBytes, 0)
			if !t.emit(tx, r) {
				continue
			}
			journaled[i] = t.log.Bytes
			if err := tx.MarkOutput(ctx, r.ID, t.log.Bytes, t.log.Lines, t.lastOutput(r)); err != nil {
				return err
			}
		}
		return nil
	}, rows...)
	if err != nil {
		return err
	}
	for i, k := range part {
		if journaled[i] < 0 {
			e.output.over(k.runID, k.attempt)
		} else {
			e.output.committed(k, journaled[i])
		}
	}
	return nil
}

// recoverOutput finds output that was relayed but not journaled when the previous orchestrator process ended. A run
// from a version whose rows had no journaled length (OutputBytes below 0) counts as journaled up to its current
// length.
func (e *Engine) recoverOutput(ctx context.Context) error {
	runs, err := e.Store.OutputRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.OutputBytes >= 0 {
			err = e.readOutput(r)
		} else {
			err = e.adoptOutput(ctx, r)
		}
		if err != nil {
			e.Log.Error("the relayed log of a run cannot be read; its output is journaled later", "run_id", r.ID, "error", err)
		}
	}
	return nil
}

func (e *Engine) adoptOutput(ctx context.Context, r svc.Run) error {
	log, err := e.Hub.Relay.Length(r.ID, r.Attempt, hub.LogLength{})
	if err != nil {
		return err
	}
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		r, err := tx.LockOutput(ctx, r.ID)
		if err != nil || r.OutputBytes >= 0 {
			return err
		}
		return tx.MarkOutput(ctx, r.ID, log.Bytes, log.Lines, r.LastOutputAt)
	})
}
