package storetest

import (
	"context"
	"encoding/base64"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"svc"
	"svc/store"
)

// all reads a list page by page.
func all[T any](w *world, limit int, list func(context.Context, svc.Page) (svc.List[T], error), each func(T)) {
	w.t.Helper()
	page := svc.Page{Limit: limit}
	for range 10_000 {
		got, err := list(w.ctx, page)
		if err != nil {
			w.t.Fatalf("list: %v", err)
		}
		if len(got.Items) > limit || got.NextCursor != nil && len(got.Items) < limit {
			w.t.Fatalf("a page of %d has %d items and next cursor %v", limit, len(got.Items), got.NextCursor)
		}
		for _, v := range got.Items {
			each(v)
		}
		if got.NextCursor == nil {
			return
		}
		page.Cursor = *got.NextCursor
	}
	w.t.Fatal("the list does not end")
}

func ids[T any](w *world, limit int, list func(context.Context, svc.Page) (svc.List[T], error), id func(T) string) []string {
	w.t.Helper()
	out := []string{}
	all(w, limit, list, func(v T) { out = append(out, id(v)) })
	return out
}

// listed is a list under test.
type listed struct {
	name string
	ids  func(limit int) []string
	want []string
}

// filled inserts six rows of each kind, and returns the lists with the order that
// each must have.
func filled(w *world) []listed {
	var projects []svc.Project
	var items []svc.WorkItem
	var hosts []svc.Host
	var runs []svc.Run
	for i := range 6 {
		projects = append(projects, w.project(string(rune('f'-i/2)))) // two projects with each name
		hosts = append(hosts, w.host(string(rune('f'-i))))
	}
	for range 3 {
		a := w.item(projects[0], nil)
		items = append(items, a, w.item(projects[1], nil)) // equal ranks in two projects
	}
	for i := range 6 {
		runs = append(runs, w.run(items[0], func(r *svc.Run) { r.CreatedAt = svc.Time(i / 2) })) // two runs with each time
	}
	w.write(func(tx *store.Tx) error {
		for range 6 {
			tx.Emit(svc.TopicHostUpdated, map[string]any{})
		}
		return nil
	})
	sort.Slice(projects, func(i, j int) bool {
		a, b := projects[i], projects[j]
		return a.Name < b.Name || a.Name == b.Name && a.ID < b.ID
	})
	sort.Slice(items, func(i, j int) bool {
		a, b := items[i], items[j]
		return a.Position < b.Position || a.Position == b.Position && a.ID < b.ID
	})
	sort.Slice(runs, func(i, j int) bool {
		a, b := runs[i], runs[j]
		return a.CreatedAt > b.CreatedAt || a.CreatedAt == b.CreatedAt && a.ID > b.ID
	})
	slices.Reverse(hosts)
	return []listed{
		{"projects", func(n int) []string { return ids(w, n, w.Projects, projectID) }, mapped(projects, projectID)},
		{"hosts", func(n int) []string { return ids(w, n, w.Hosts, hostID) }, mapped(hosts, hostID)},
		{"work items", func(n int) []string { return ids(w, n, w.items(svc.WorkItemFilter{}), itemID) }, mapped(items, itemID)},
		{"runs", func(n int) []string { return ids(w, n, w.runs(svc.RunFilter{}), runID) }, mapped(runs, runID)},
		{"events", func(n int) []string { return ids(w, n, w.events(nil), eventID) }, []string{"6", "5", "4", "3", "2", "1"}},
		{"events of a topic", func(n int) []string { return ids(w, n, w.events(svc.Globs{"host.*"}), eventID) }, []string{"6", "5", "4", "3", "2", "1"}},
		{"events of no topic", func(n int) []string { return ids(w, n, w.events(svc.Globs{"nothing"}), eventID) }, []string{}},
	}
}

func pagesGiveEachRowOnce(t *testing.T, w *world) {
	for _, l := range filled(w) {
		for _, limit := range []int{1, 2, 3, 5, 6, 7} {
			if got := l.ids(limit); !slices.Equal(got, l.want) {
				t.Errorf("%s in pages of %d: %v, want %v", l.name, limit, got, l.want)
			}
		}
	}
}

// pagesEndEarly lists records with a limit of bytes for each page: records that exceed it alone, and records of which a
// few fit. Each page has at least one record, and no record is missing or returned twice.
func pagesEndEarly(t *testing.T, w *world) {
	large := strings.Repeat("ä", 2000) // 4,000 bytes
	var p svc.Project
	var want struct{ projects, items, events []string }
	for i := range 7 {
		p = w.project(string(rune('a' + i)))
		p.Description = large
		w.write(func(tx *store.Tx) error { return tx.UpdateProject(w.ctx, &p) })
		want.projects = append(want.projects, p.ID)
	}
	w.write(func(tx *store.Tx) error {
		for i := range 9 {
			topic := svc.TopicHostUpdated
			if i%3 == 0 {
				topic = svc.TopicHostCreated
			}
			tx.Emit(topic, map[string]any{"text": large, "project_id": p.ID})
		}
		return nil
	})
	for seq := 9; seq > 0; seq-- {
		want.events = append(want.events, strconv.Itoa(seq))
	}
	for range 7 {
		item := w.item(p, nil)
		item.Description = large
		w.write(func(tx *store.Tx) error { return tx.UpdateWorkItem(w.ctx, &item) })
		want.items = append(want.items, item.ID)
	}
	for _, c := range []struct{ bytes, most int }{{1, 1}, {4100, 2}, {9000, 3}, {0, 500}} {
		bounded(t, w, "projects", c.bytes, c.most, w.Projects, projectID, want.projects)
		bounded(t, w, "work items", c.bytes, c.most, w.items(svc.WorkItemFilter{}), itemID, want.items)
		bounded(t, w, "events", c.bytes, c.most, w.events(nil), eventID, want.events)
		bounded(t, w, "events of topics", c.bytes, c.most, w.events(svc.Globs{"host.*"}), eventID, want.events)
		bounded(t, w, "events of a subject", c.bytes, c.most, func(ctx context.Context, page svc.Page) (svc.List[svc.Event], error) {
			l, err := w.Events(ctx, svc.EventFilter{Subjects: svc.Subjects{ProjectID: p.ID}}, page)
			return svc.List[svc.Event]{Items: l.Items, NextCursor: l.NextCursor}, err
		}, eventID, want.events)
	}
}

// bounded reads a list in pages of this many bytes and compares their records. No page may have more than most records.
func bounded[T any](t *testing.T, w *world, name string, bytes, most int, list func(context.Context, svc.Page) (svc.List[T], error), id func(T) string, want []string) {
	t.Helper()
	var got []string
	for page := (svc.Page{Limit: svc.MaxLimit, Bytes: bytes}); ; {
		l, err := list(w.ctx, page)
		if err != nil {
			t.Fatalf("%s in pages of %d bytes: %v", name, bytes, err)
		}
		if len(l.Items) > most {
			t.Errorf("%s: a page of %d bytes has %d records", name, bytes, len(l.Items))
		}
		got = append(got, mapped(l.Items, id)...)
		if l.NextCursor == nil || len(got) > len(want) {
			break
		}
		page.Cursor = *l.NextCursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s in pages of %d bytes: %v, want %v", name, bytes, got, want)
	}
}

func pagesAreStable(t *testing.T, w *world) {
	p := w.project("m")
	var want []string
	var items []svc.WorkItem
	for range 6 {
		items = append(items, w.item(p, nil))
		want = append(want, items[len(items)-1].ID)
	}
	var got []string
	step := 0
	all(w, 2, w.items(svc.WorkItemFilter{ProjectID: p.ID}), func(i svc.WorkItem) {
		got = append(got, i.ID)
		if step++; step%2 == 0 { // after a page was read, its rows are deleted, and one is added at the end
			w.write(func(tx *store.Tx) error {
				for _, id := range got[len(got)-2:] {
					if _, err := tx.DeleteSubtree(w.ctx, id); err != nil {
						return err
					}
				}
				return nil
			})
			if step <= 4 {
				want = append(want, w.item(p, nil).ID)
			}
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("items while rows come and go: %v, want %v", got, want)
	}

	task := w.item(p, nil)
	var runs []string
	for i := range 6 {
		runs = append([]string{w.run(task, func(r *svc.Run) { r.CreatedAt = svc.Time(i) }).ID}, runs...)
	}
	got = nil
	all(w, 2, w.runs(svc.RunFilter{}), func(r svc.Run) {
		got = append(got, r.ID)
		w.run(task, func(r *svc.Run) { r.CreatedAt = 100 })
	})
	if !slices.Equal(got, runs) {
		t.Errorf("runs while newer ones come: %v, want the six old ones %v", got, runs)
	}
}

func foreignCursors(t *testing.T, w *world) {
	filled(w)
	cursors := map[string]string{"broken": "%%", "not given out": "bm90aGluZw", "an empty list": encoded(`[]`),
		"too few": encoded(`["work_items","x"]`), "too many": encoded(`["hosts","x","y"]`), "a null": encoded(`["hosts",null]`),
		"a number for a name": encoded(`["hosts",1]`), "a fraction": encoded(`["events",1.5]`), "a NUL": encoded(`["hosts","\u0000"]`)}
	read := map[string]func(svc.Page) (*string, error){
		"projects": func(p svc.Page) (*string, error) { l, err := w.Projects(w.ctx, p); return l.NextCursor, err },
		"hosts":    func(p svc.Page) (*string, error) { l, err := w.Hosts(w.ctx, p); return l.NextCursor, err },
		"work_items": func(p svc.Page) (*string, error) {
			l, err := w.items(svc.WorkItemFilter{})(w.ctx, p)
			return l.NextCursor, err
		},
		"runs": func(p svc.Page) (*string, error) {
			l, err := w.runs(svc.RunFilter{})(w.ctx, p)
			return l.NextCursor, err
		},
		"events": func(p svc.Page) (*string, error) { l, err := w.events(nil)(w.ctx, p); return l.NextCursor, err },
	}
	for list, page := range read {
		next, err := page(svc.Page{Limit: 2})
		if err != nil || next == nil {
			t.Fatalf("%s: the first page has next cursor %v (%v)", list, next, err)
		}
		cursors[list] = *next
	}
	for list, page := range read {
		for of, cursor := range cursors {
			want := svc.CodeValidation
			if of == list {
				want = ""
			}
			_, err := page(svc.Page{Limit: 2, Cursor: cursor})
			w.wantCode(list+" with a cursor of "+of, err, want)
		}
	}
}

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func (w *world) items(f svc.WorkItemFilter) func(context.Context, svc.Page) (svc.List[svc.WorkItem], error) {
	return func(ctx context.Context, p svc.Page) (svc.List[svc.WorkItem], error) { return w.WorkItems(ctx, f, p) }
}

func (w *world) runs(f svc.RunFilter) func(context.Context, svc.Page) (svc.List[svc.Run], error) {
	return func(ctx context.Context, p svc.Page) (svc.List[svc.Run], error) { return w.Runs(ctx, f, p) }
}

func (w *world) events(g svc.Globs) func(context.Context, svc.Page) (svc.List[svc.Event], error) {
	return func(ctx context.Context, p svc.Page) (svc.List[svc.Event], error) {
		l, err := w.Events(ctx, svc.EventFilter{Topics: g}, p)
		return svc.List[svc.Event]{Items: l.Items, NextCursor: l.NextCursor}, err
	}
}
