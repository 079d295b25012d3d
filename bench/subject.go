package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/store"
)

const (
	subjectFew   = 10_000
	subjectMany  = 500_000
	subjectOwn   = 2000 // events of the run that is asked for
	subjectTurns = 9
)

// subject measures what the events of one run cost in a large journal beside the
// same in a small one, read to their end.
func subject(ctx context.Context, r *report) (err error) {
	var rigs [2]*rig
	var runs [2]string
	for i, n := range []int{subjectFew, subjectMany} {
		if rigs[i], err = newOwnRig(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rigs[i].close()) }()
		r.note("writing a journal of %d events", n)
		if runs[i], err = rigs[i].journalWithRun(ctx, n, subjectOwn); err != nil {
			return err
		}
	}
	var took [2][]time.Duration
	for range subjectTurns {
		for i, g := range rigs {
			began := time.Now()
			if n, err := g.eventsOf(ctx, runs[i]); err != nil || n != subjectOwn {
				return fmt.Errorf("%d events of the run were found: %w", n, err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	few, many := median(took[0]), median(took[1])
	r.info(fmt.Sprintf("%d events of one run out of %d and of %d", subjectOwn, subjectFew, subjectMany), "%s and %s ms", figure(ms(few)), figure(ms(many)))
	r.atMost("events of one run in the large journal, to the small one", float64(many)/float64(few), 3, "×")
	return nil
}

// journalWithRun writes a journal of n events, over which own of one run are spread.
func (g *rig) journalWithRun(ctx context.Context, n, own int) (runID string, err error) {
	runID = svc.NewRunID()
	const parts = 20
	for range parts {
		if err := g.journal(ctx, (n-own)/parts, ""); err != nil {
			return "", err
		}
		err := g.store.Write(ctx, func(tx *store.Tx) error {
			for range own / parts {
				tx.Emit(svc.TopicRunSignal, map[string]any{"run_id": runID, "attempt": 1})
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return runID, nil
}

// eventsOf reads all events of a run, page by page, as a client does.
func (g *rig) eventsOf(ctx context.Context, runID string) (n int, err error) {
	f := svc.EventFilter{Subjects: svc.Subjects{RunID: runID}}
	for page := (svc.Page{Limit: svc.MaxLimit}); ; {
		list, err := g.engine.Events(ctx, f, page)
		if err != nil {
			return n, err
		}
		n += len(list.Items)
		if list.NextCursor == nil {
			return n, nil
		}
		page.Cursor = *list.NextCursor
	}
}
