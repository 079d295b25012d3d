package engine

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/store"
)

// outputMeter counts what runs write, so that the journal tells of it without
// an event for every chunk: the first after a quiet second at once, then at
// most one in each interval with the sums since.
type outputMeter struct {
	interval time.Duration
	news     *wake      // something should be told at once
	mu       sync.Mutex // guards runs
	runs     map[string]*outputSums
}

type outputSums struct {
	attempt      int
	lines, bytes int64
	last         svc.Time // of the newest chunk
	told         svc.Time // of the newest event
	atOnce       bool     // it does not wait for the interval
}

// quietGap is the silence after which a chunk is told at once.
const quietGap = time.Second

func newOutputMeter(interval time.Duration) *outputMeter {
	return &outputMeter{interval: interval, news: newWake(), runs: map[string]*outputSums{}}
}

// add counts a chunk. It costs the connection that brings it no write: the
// loop tells of it.
func (m *outputMeter) add(runID string, attempt int, lines, bytes int, now svc.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.runs[runID]
	if s == nil {
		s = &outputSums{}
		m.runs[runID] = s
	}
	quiet := now.Sub(s.last) >= quietGap
	s.attempt, s.last = attempt, now
	s.lines += int64(lines)
	s.bytes += int64(bytes)
	if quiet || now.Sub(s.told) >= m.interval {
		s.atOnce = true
		m.news.up()
	}
}

// taken is what a unit of work tells of a run's output.
type taken struct {
	runID string
	sums  outputSums
}

// take empties a run's counts; a unit that fails gives them back.
func (m *outputMeter) take(runID string) taken {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.runs[runID]
	if s == nil {
		return taken{}
	}
	t := taken{runID, *s}
	s.lines, s.bytes, s.told, s.atOnce = 0, 0, s.last, false
	return t
}

func (t taken) giveBack(m *outputMeter) {
	if t.sums.bytes == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.runs[t.runID]; s != nil {
		s.lines += t.sums.lines
		s.bytes += t.sums.bytes
		s.told = t.sums.told
	}
}

// emit journals the counts: numbers only, never text.
func (t taken) emit(tx *store.Tx, r svc.Run) {
	if t.sums.bytes == 0 {
		return
	}
	p := r.EventPayload()
	p["attempt"] = t.sums.attempt
	p["line_count"], p["byte_count"], p["timestamp"] = t.sums.lines, t.sums.bytes, t.sums.last
	tx.Emit(svc.TopicRunOutput, p)
}

// due is every run with something to tell whose interval is over. What was
// told long ago is forgotten.
func (m *outputMeter) due(now svc.Time) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for id, s := range m.runs {
		switch {
		case s.bytes > 0 && (s.atOnce || now.Sub(s.told) >= m.interval):
			ids = append(ids, id)
		case s.bytes == 0 && now.Sub(s.last) > m.interval+time.Hour:
			delete(m.runs, id)
		}
	}
	return ids
}

// outputLoop tells what is due, and everything that is left at the end.
func (e *Engine) outputLoop(ctx context.Context) error {
	tick := time.NewTicker(max(min(e.OutputInterval/4, time.Second), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.tellOutput(ctx, e.output.due(e.now())...)
		case <-e.output.news.c:
			e.tellOutput(ctx, e.output.due(e.now())...)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			e.tellOutput(last, e.output.due(e.now().Add(e.OutputInterval))...)
			return nil
		}
	}
}

// tellOutput journals the counts of some runs in one unit of work.
func (e *Engine) tellOutput(ctx context.Context, ids ...string) {
	if len(ids) == 0 {
		return
	}
	var all []taken
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			r, err := tx.Run(ctx, id)
			if err != nil {
				return err
			}
			t := e.output.take(id)
			all = append(all, t)
			if t.sums.bytes == 0 {
				continue
			}
			t.emit(tx, r)
			if err := tx.MarkOutput(ctx, id, t.sums.last); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, t := range all {
			t.giveBack(e.output)
		}
		e.Log.Error("output cannot be journaled; trying again", "error", err)
	}
}

// emitOutput tells what is left of a run's output before an event that ends
// something. The caller writes the run, and with it when it last wrote.
func (e *Engine) emitOutput(tx *store.Tx, r *svc.Run) taken {
	t := e.output.take(r.ID)
	t.emit(tx, *r)
	if t.sums.bytes > 0 && value(r.LastOutputAt) < t.sums.last {
		r.LastOutputAt = &t.sums.last
	}
	return t
}
