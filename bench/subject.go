package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"svc"
	"svc/store"
)

// subjectJournal is a journal in which the events of one run are spread evenly.
type subjectJournal struct {
	events, own int
}

// The small journal and the large one. In both, one event of a hundred is of the run, so its events are equally far
// from each other.
var subjectJournals = [2]subjectJournal{{10_000, 100}, {10_000_000, 100_000}}

const (
	subjectOthers = 100_000 // number of runs to which the other events belong
	subjectPage   = 100     // as many as the run has in the small journal
	subjectTurns  = 5
)

// subject measures the cost of an event of one run in a large journal and in a small one, in turns. All events of the
// run are read.
func subject(ctx context.Context, r *report) (err error) {
	runID := svc.NewRunID()
	var rigs [2]*rig
	for i, j := range subjectJournals {
		r.note("writing a journal of %d events", j.events)
		if rigs[i], err = newSubjectRig(ctx, j, runID); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rigs[i].close()) }()
	}
	var took, first [2][]time.Duration // the time per event, and the time of the first page
	for range subjectTurns {
		for i, g := range rigs {
			began := time.Now()
			n, page, err := g.eventsOf(ctx, runID)
			if err != nil {
				return err
			}
			if n != subjectJournals[i].own {
				return fmt.Errorf("found %d events of the run, want %d", n, subjectJournals[i].own)
			}
			took[i] = append(took[i], time.Since(began)/time.Duration(n))
			first[i] = append(first[i], page)
		}
	}
	few, many := subjectJournals[0], subjectJournals[1]
	r.info(fmt.Sprintf("an event of one run, %d out of %d and %d out of %d", few.own, few.events, many.own, many.events), "%s and %s µs",
		figure(1000*ms(median(took[0]))), figure(1000*ms(median(took[1]))))
	r.atMost("an event of one run in the large journal, to the small one", float64(median(took[1]))/float64(median(took[0])), 3, "×")
	r.atMost("the newest page of the run's events, to the small journal", float64(median(first[1]))/float64(median(first[0])), 3, "×")
	return nil
}

// newSubjectRig starts an orchestrator on a journal that was written with SQL: ten million units of work would take
// an hour.
func newSubjectRig(ctx context.Context, j subjectJournal, runID string) (*rig, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return nil, err
	}
	g, err := func() (*rig, error) {
		file := filepath.Join(dir, "svc.db")
		s, err := store.Open(ctx, "sqlite:"+file, store.Options{}) // makes the tables
		if err != nil {
			return nil, err
		}
		if err := errors.Join(s.Close(), j.write(ctx, file, runID)); err != nil {
			return nil, err
		}
		return newRig(ctx, dir, "127.0.0.1:0")
	}()
	if err != nil {
		remove()
		return nil, err
	}
	g.dir, g.remove = dir, remove
	return g, nil
}

// write fills an empty journal. The indexes are made afterwards, which is several times faster.
func (j subjectJournal) write(ctx context.Context, file, runID string) (err error) {
	pragmas := url.Values{"_pragma": {"synchronous(OFF)", "cache_size(-64000)", "temp_store(FILE)"}}
	db, err := sql.Open("sqlite", "file:"+file+"?"+pragmas.Encode())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // the next pragma applies to one connection
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = OFF`); err != nil {
		return err
	}
	indexes, err := eventIndexes(ctx, db)
	if err != nil {
		return err
	}
	for name := range indexes {
		if _, err := db.ExecContext(ctx, `DROP INDEX `+name); err != nil {
			return err
		}
	}
	const fill = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1),
		of (i, run_id) AS (SELECT i, CASE WHEN i % $2 = 0 THEN $3 ELSE printf('%08x-0000-4000-8000-000000000000', i % $4) END FROM n)
		INSERT INTO events (seq, topic, payload, created_at, run_id)
		SELECT i, 'run.signal_received', '{"attempt":1,"run_id":"' || run_id || '"}', $5, run_id FROM of`
	if _, err := db.ExecContext(ctx, fill, j.events, j.events/j.own, runID, subjectOthers, int64(svc.TimeOf(time.Now()))); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	for _, statement := range indexes {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make an index of the journal: %w", err)
		}
	}
	_, err = db.ExecContext(ctx, `UPDATE journal SET head = $1`, j.events)
	return err
}

// eventIndexes returns the statements that make the indexes of the journal, by index name.
func eventIndexes(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'events' AND sql IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			return nil, err
		}
		out[name] = statement
	}
	return out, rows.Err()
}

// eventsOf reads all events of a run, page by page, as a client does. It returns their number and the time of the
// first page.
func (g *rig) eventsOf(ctx context.Context, runID string) (n int, first time.Duration, err error) {
	f := svc.EventFilter{Subjects: svc.Subjects{RunID: runID}}
	began := time.Now()
	for page := (svc.Page{Limit: subjectPage}); ; {
		list, err := g.engine.Events(ctx, f, page)
		if err != nil {
			return n, first, err
		}
		if n += len(list.Items); first == 0 {
			first = time.Since(began)
		}
		if list.NextCursor == nil {
			return n, first, nil
		}
		page.Cursor = *list.NextCursor
	}
}
