package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"svc"
)

// Reader reads records: each query from the latest committed state, all from one
// consistent state (see [Store.View]), or inside a unit of work.
type Reader struct {
	q edged
	d *dialect
	// view calls a function with a Reader of one state; nil: this Reader is one.
	view func(context.Context, func(Reader) error) error
}

// oneState runs a read of several queries on one state of the database. Else a
// record that changes between two queries could be found twice, or not at all.
func oneState[T any](ctx context.Context, r Reader, read func(Reader) (T, error)) (v T, err error) {
	if r.view == nil {
		return read(r)
	}
	err = r.view(ctx, func(r Reader) (err error) {
		v, err = read(r)
		return err
	})
	return v, err
}

// scanner is a row to scan.
type scanner interface{ Scan(dest ...any) error }

// readOne reads a single record. If there is none, it returns a not_found error with
// this noun and id.
func readOne[T any](ctx context.Context, q edged, scan func(scanner) (T, error), noun, id, query string, args ...any) (T, error) {
	v, err := scan(q.QueryRowContext(ctx, query, args...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return v, svc.NotFound(noun, id)
	case err != nil:
		return v, fmt.Errorf("read %s %s: %w", noun, id, err)
	}
	return v, nil
}

// collect reads every row of a query.
func collect[T any](ctx context.Context, q edged, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, _, err := collectUpTo(ctx, q, 0, scan, query, args...)
	return rows, err
}

// collectUpTo reads rows until their texts exceed a number of bytes; 0: all rows. It reads at least one row. cut is
// true if it ended for that reason: there may be other rows.
func collectUpTo[T any](ctx context.Context, q edged, bytes int, scan func(scanner) (T, error), query string, args ...any) (out []T, cut bool, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	out = []T{}
	read := &counted{rows: rows}
	for (bytes <= 0 || read.bytes <= bytes) && rows.Next() {
		v, err := scan(read)
		if err != nil {
			return nil, false, err
		}
		out = append(out, v)
	}
	return out, bytes > 0 && read.bytes > bytes, rows.Err()
}

// counted scans rows and counts the bytes of their texts. It ignores columns of other types, which are short.
type counted struct {
	rows  scanner
	bytes int
}

func (c *counted) Scan(dest ...any) error {
	err := c.rows.Scan(dest...)
	for _, d := range dest {
		switch v := d.(type) {
		case *string:
			c.bytes += len(*v)
		case **string:
			if *v != nil {
				c.bytes += len(**v)
			}
		}
	}
	return err
}

// merged runs one ordered, limited query for each key and merges their records into one page. If the page is full, the
// next query gets the last record of the page: it need not read records after that one. If a query ended early (cut),
// the page is full and ends with the last record of that query, because later records of the same key are missing. size
// returns the bytes of a record. A page with more than bytes is full too; 0: no limit.
func merged[K, T any](keys []K, limit, bytes int, size func(T) int, query func(key K, last *T) (part []T, cut bool, err error), before func(a, b T) bool) (all []T, full bool, err error) {
	all = []T{}
	for _, k := range keys {
		var last *T
		if full || len(all) == limit {
			last = &all[len(all)-1]
		}
		part, cut, err := query(k, last)
		if err != nil {
			return nil, false, err
		}
		all = append(all, part...)
		sort.SliceStable(all, func(i, j int) bool { return before(all[i], all[j]) })
		if cut {
			end := part[len(part)-1]
			for before(end, all[len(all)-1]) {
				all = all[:len(all)-1]
			}
			full = true
		}
		all = all[:min(limit, len(all))]
		for i, sum := 0, 0; bytes > 0 && i < len(all)-1; i++ {
			if sum += size(all[i]); sum > bytes {
				all, full = all[:i+1], true
			}
		}
	}
	return all, full, nil
}

// paged returns a page of rows, which were read with one row more than the limit. The page has a cursor if there is
// such a row, or if the read was cut.
func paged[T any](rows []T, cut bool, limit int, at func(T) string) svc.List[T] {
	if len(rows) > limit {
		rows, cut = rows[:limit], true
	}
	if !cut {
		return svc.List[T]{Items: rows}
	}
	next := at(rows[len(rows)-1])
	return svc.List[T]{Items: rows, NextCursor: &next}
}

// cursor encodes a position in the list of that name.
func cursor(list string, key ...any) string {
	b, err := json.Marshal(append([]any{list}, key...))
	if err != nil {
		panic("svc/store: a cursor of plain values did not encode: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor decodes a cursor of that list into key. It returns a validation
// error if cursor did not produce the text.
func readCursor(list, text string, key ...any) error {
	bad := svc.Invalid("cursor", "is not a cursor of this list")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return bad
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) != len(key)+1 {
		return bad
	}
	var name string
	if json.Unmarshal(parts[0], &name) != nil || name != list {
		return bad
	}
	for i, dest := range key {
		if string(parts[i+1]) == "null" || json.Unmarshal(parts[i+1], dest) != nil {
			return bad
		}
		if s, ok := dest.(*string); ok && strings.IndexByte(*s, 0) >= 0 {
			return bad // PostgreSQL refuses a NUL, even in a comparison
		}
	}
	return nil
}

// where collects conditions; each "?" becomes the next $n.
type where struct {
	conds []string
	args  []any
}

func (w *where) add(cond string, args ...any) {
	for _, a := range args {
		w.args = append(w.args, a)
		cond = strings.Replace(cond, "?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.conds = append(w.conds, cond)
}

// among adds the condition that a column is one of the ids. Without ids it is
// false.
func (w *where) among(d *dialect, column string, ids []string) {
	w.add(fmt.Sprintf(d.among, column), toJSON(append([]string{}, ids...)))
}

// outside adds the condition that a column is none of the ids.
func (w *where) outside(d *dialect, column string, ids []string) {
	w.add("NOT ("+fmt.Sprintf(d.among, column)+")", toJSON(append([]string{}, ids...)))
}

func (w where) sql() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// toJSON encodes the value of a column with JSON.
func toJSON(v any) string {
	b, err := svc.JSON(v)
	if err != nil {
		panic("svc/store: plain values did not encode: " + err.Error())
	}
	return string(b)
}
