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

// outputMeter knows how much runs have written, so that the journal tells of it
// without an event for every chunk: the first after a quiet second at once, then
// at most one in each interval.
//
// Nothing is added up. The meter has the length of the relayed log, the run's
// row has the length that the journal has told of, and an event carries the
// difference. So a unit that fails, or a commit whose outcome is unknown, costs
// nothing and counts nothing twice, and the meter may be lost at any moment: it
// is read from the log again.
type outputMeter struct {
	interval time.Duration
	news     *wake      // something should be told at once
	mu       sync.Mutex // guards runs
	runs     map[string]*outputTally
}

// outputTally is how much of an attempt's log is relayed.
type outputTally struct {
	attempt int
	log     hub.LogLength
	told    int64    // bytes that the journal has, as far as this process knows
	last    svc.Time // of the newest chunk
	toldAt  svc.Time // when the journal was last told
	atOnce  bool     // it does not wait for the interval
}

// quietGap is the silence after which a chunk is told at once.
const quietGap = time.Second

// outputUnit is the runs that one unit of work tells of.
const outputUnit = 100

func newOutputMeter(interval time.Duration) *outputMeter {
	return &outputMeter{interval: interval, news: newWake(), runs: map[string]*outputTally{}}
}

// grow notes an appended chunk. It is false when what came before the chunk is
// not known here: then the log must be read.
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

// wrote decides when the newest chunk is told of. The caller has the lock.
func (m *outputMeter) wrote(t *outputTally, now svc.Time) {
	quiet := now.Sub(t.last) >= quietGap
	t.last = now
	if quiet || now.Sub(t.toldAt) >= m.interval {
		t.atOnce = true
		m.news.up()
	}
}

// learn notes what the log of an attempt holds. An older attempt, or a shorter
// length, is older knowledge.
func (m *outputMeter) learn(runID string, attempt int, log hub.LogLength, told int64, now svc.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.runs[runID]
	switch {
	case t == nil || t.attempt < attempt:
		t = &outputTally{attempt: attempt, told: max(told, 0)}
		m.runs[runID] = t
	case t.attempt > attempt || t.log.Bytes >= log.Bytes:
		return
	}
	t.log = log
	m.wrote(t, now)
}

// of is the tally of an attempt.
func (m *outputMeter) of(runID string, attempt int) (outputTally, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.runs[runID]
	if t == nil || t.attempt != attempt {
		return outputTally{}, false
	}
	return *t, true
}

// due is every attempt with something to tell whose interval is over. What was
// told long ago is forgotten.
func (m *outputMeter) due(now svc.Time) []attemptKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []attemptKey
	for id, t := range m.runs {
		switch {
		case t.log.Bytes > t.told && (t.atOnce || now.Sub(t.toldAt) >= m.interval):
			t.atOnce, t.toldAt = false, t.last // a unit that fails is tried again after the interval
			due = append(due, attemptKey{id, t.attempt})
		case t.log.Bytes <= t.told && now.Sub(t.last) > m.interval+time.Hour:
			delete(m.runs, id)
		}
	}
	return due
}

type attemptKey struct {
	runID   string
	attempt int
}

// committed notes how far the journal has come.
func (m *outputMeter) committed(k attemptKey, told int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.runs[k.runID]; t != nil && t.attempt == k.attempt {
		t.told = max(t.told, told)
	}
}

// over forgets an attempt that has ended, and those before it: nothing follows
// its end.
func (m *outputMeter) over(runID string, attempt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.runs[runID]; t != nil && t.attempt <= attempt {
		delete(m.runs, runID)
	}
}

// countOutput notes an appended chunk of a run's current attempt. What a session
// writes after its attempt is over belongs to its log alone.
func (e *Engine) countOutput(r svc.Run, attempt int, kept hub.Appended) error {
	if attempt != r.Attempt || !writes(r) || e.output.grow(r.ID, attempt, kept, e.now()) {
		return nil
	}
	return e.readOutput(r)
}

// writes says whether output of the run's attempt is journaled.
func writes(r svc.Run) bool { return r.Status == svc.RunSpawning || r.Status == svc.RunRunning }

// readOutput learns from the log how much an attempt has written. How far the
// journal is may be old news: any length that was ever told of serves to count on
// from, since a log only grows.
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

// prepareEnd measures the log of a run, so that the unit of work that ends its
// attempt tells of all that is in it. What the meter has is not enough: a chunk
// may be in the log and not be counted yet, on a connection that another has
// replaced, or in a process before this one.
func (e *Engine) prepareEnd(ctx context.Context, runID string) {
	r, err := e.live(ctx, runID)
	if err != nil || !writes(r) {
		return // the unit itself says what is wrong
	}
	if err := e.readOutput(r); err != nil {
		e.Log.Error("the relayed log of a run cannot be read; its last output is not journaled", "run_id", r.ID, "error", err)
	}
}

// emitOutput tells what is left of an attempt's output in the unit of work that
// ends the attempt, before the event that says so. The caller writes the run.
func (e *Engine) emitOutput(tx *store.Tx, r *svc.Run) {
	t, known := e.output.of(r.ID, r.Attempt)
	if !known || !t.emit(tx, *r) {
		return
	}
	r.OutputBytes, r.OutputLines, r.LastOutputAt = t.log.Bytes, t.log.Lines, t.lastOutput(*r)
}

// lastOutput is when a run last wrote something.
func (t outputTally) lastOutput(r svc.Run) *svc.Time {
	last := max(value(r.LastOutputAt), t.last)
	return &last
}

// emit journals what the run's row has not told of yet: numbers only, never
// text. It is false when there is nothing.
func (t outputTally) emit(tx *store.Tx, r svc.Run) bool {
	told := max(r.OutputBytes, 0)
	if t.log.Bytes <= told {
		return false
	}
	p := r.EventPayload()
	p["byte_count"], p["line_count"], p["timestamp"] = t.log.Bytes-told, max(t.log.Lines-r.OutputLines, 0), t.last
	tx.Emit(svc.TopicRunOutput, p)
	return true
}

// outputLoop tells what is due, and everything that is left at the end.
func (e *Engine) outputLoop(ctx context.Context) error {
	tick := time.NewTicker(max(min(e.OutputInterval/4, time.Second), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.tellOutput(ctx, e.output.due(e.now()))
		case <-e.output.news.c:
			e.tellOutput(ctx, e.output.due(e.now()))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			e.tellOutput(last, e.output.due(e.now().Add(e.OutputInterval)))
			return nil
		}
	}
}

func (e *Engine) tellOutput(ctx context.Context, due []attemptKey) {
	for part := range slices.Chunk(due, outputUnit) {
		if err := e.tellOutputOf(ctx, part); err != nil {
			e.Log.Error("output cannot be journaled; trying again", "error", err)
		}
	}
}

// tellOutputOf journals the output of some runs in one unit of work.
func (e *Engine) tellOutputOf(ctx context.Context, part []attemptKey) error {
	told := make([]int64, len(part)) // -1: the attempt is over
	rows := make([]store.Row, len(part))
	for i, k := range part {
		rows[i] = store.RunRow(k.runID)
	}
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		for i, k := range part {
			told[i] = -1
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
			told[i] = max(r.OutputBytes, 0)
			if !t.emit(tx, r) {
				continue
			}
			told[i] = t.log.Bytes
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
		if told[i] < 0 {
			e.output.over(k.runID, k.attempt)
		} else {
			e.output.committed(k, told[i])
		}
	}
	return nil
}

// recoverOutput finds what was relayed and not told of when the orchestrator
// last ended. A run from before its row said how far the journal is has been
// told of all that was relayed by then.
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
