package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"svc"
	"svc/internal/pgtest"
	"svc/store"
)

const (
	listSmall = 1_000
	listLarge = 100_000
	listTurns = 31
	listLimit = 50
)

// listMost is the limit of the time for a page of 50 out of 100,000 records, in ms.
const listMost = 50

// lists measures a page of 50 out of 100,000 records in turns with one out of 1,000, for every documented filter, on
// both databases.
func lists(ctx context.Context, r *report) error {
	dir, remove, err := tempDir()
	if err != nil {
		return err
	}
	defer remove()
	err = listsOn(ctx, r, "SQLite", "sqlite:"+filepath.Join(dir, "small.db"), "sqlite:"+filepath.Join(dir, "large.db"))
	if err != nil {
		return err
	}
	t := &holder{}
	defer t.release()
	var small, large string
	if err := t.try(func() { small, large = pgtest.Start(t), pgtest.Start(t) }); err != nil {
		return err
	}
	return listsOn(ctx, r, "PostgreSQL", small, large)
}

// listsOn measures one database. For each filter, both sizes are queried in turns.
func listsOn(ctx context.Context, r *report, name, smallDSN, largeDSN string) (err error) {
	small, err := openLibrary(ctx, smallDSN, listSmall)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.store.Close()) }()
	r.note("filling %s", name)
	large, err := openLibrary(ctx, largeDSN, listLarge)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, large.store.Close()) }()
	if err := settle(ctx, name, smallDSN, largeDSN); err != nil {
		return err
	}
	slow, worst := "", 0.0
	for _, q := range queries {
		took, err := q.compare(ctx, r, name, small, large)
		if err != nil {
			return err
		}
		if took > listMost {
			r.atMost(name+", "+q.name, took, listMost, " ms")
		}
		if took > worst {
			slow, worst = q.name, took
		}
	}
	r.atMost(fmt.Sprintf("%s, slowest of %d filters (%s)", name, len(queries), slow), worst, listMost, " ms")
	return nil
}

// compare queries both sizes in turns and returns the time for the large one, in ms. A filter with less than a page
// of matches in the small one is compared with a plain page of 50 there, because the time of a page of three cannot
// be compared with that of a page of 50.
func (q query) compare(ctx context.Context, r *report, name string, small, large *library) (float64, error) {
	plain := query{items: itemFilter(nil)}
	if q.runs != nil {
		plain = query{runs: runFilter(nil)}
	}
	var few, many, base []time.Duration
	full := true
	for range listTurns {
		a, n, err := q.time(ctx, small)
		if err != nil {
			return 0, fmt.Errorf("%s, %s of %d: %w", name, q.name, listSmall, err)
		}
		b, m, err := q.time(ctx, large)
		if err != nil {
			return 0, fmt.Errorf("%s, %s of %d: %w", name, q.name, listLarge, err)
		}
		c, _, err := plain.time(ctx, small)
		if err != nil {
			return 0, err
		}
		if (m == 0) != q.none || q.whole && m != listLimit {
			return 0, fmt.Errorf("%s, %s of %d: the page has %d records", name, q.name, listLarge, m)
		}
		full = full && n == listLimit
		few, many, base = append(few, a), append(many, b), append(base, c)
	}
	if !full {
		few = base
	}
	ratio := ms(median(many)) / ms(median(few))
	r.note("%s %-38s %8s ms of 1,000 %8s ms of 100,000 %6s×", name, q.name, figure(ms(median(few))), figure(ms(median(many))), figure(ratio))
	return ms(median(many)), nil
}

// query is one combination of filters.
type query struct {
	name  string
	runs  func(*library) svc.RunFilter
	items func(*library) svc.WorkItemFilter
	deep  bool // the page after as many matches as a quarter of the library's size
	whole bool // more than a page matches in the large library
	none  bool // nothing matches: the whole order is read
}

// time measures one page and returns its number of records.
func (q query) time(ctx context.Context, l *library) (took time.Duration, n int, err error) {
	page := svc.Page{Limit: listLimit}
	if q.deep {
		page.Cursor = l.cursors[q.name]
	}
	began := time.Now()
	if q.runs != nil {
		var list svc.List[svc.Run]
		list, err = l.store.Runs(ctx, q.runs(l), page)
		n = len(list.Items)
	} else {
		var list svc.List[svc.WorkItem]
		list, err = l.store.WorkItems(ctx, q.items(l), page)
		n = len(list.Items)
	}
	return time.Since(began), n, err
}

// seek finds the cursors of the deep pages.
func (l *library) seek(ctx context.Context) error {
	for _, q := range queries {
		if !q.deep {
			continue
		}
		page := svc.Page{Limit: svc.MaxLimit}
		for seen := 0; seen < l.size/4; {
			next, n, err := q.next(ctx, l, page)
			if err != nil {
				return err
			}
			if next == nil {
				break
			}
			seen += n
			page.Cursor = *next
		}
		l.cursors[q.name] = page.Cursor
	}
	return nil
}

func (q query) next(ctx context.Context, l *library, page svc.Page) (*string, int, error) {
	if q.runs != nil {
		list, err := l.store.Runs(ctx, q.runs(l), page)
		return list.NextCursor, len(list.Items), err
	}
	list, err := l.store.WorkItems(ctx, q.items(l), page)
	return list.NextCursor, len(list.Items), err
}

func openLibrary(ctx context.Context, dsn string, size int) (*library, error) {
	s, err := store.Open(ctx, dsn, store.Options{})
	if err != nil {
		return nil, err
	}
	l := &library{store: s, size: size, cursors: map[string]string{}}
	if err := errors.Join(l.fill(ctx), l.seek(ctx)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return l, nil
}
