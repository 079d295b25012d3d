package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc"
)

// page reads one page of a list. It returns the records' ids or seqs, and the cursor; "" at the end.
func (g *rig) page(path string) (ids []string, cursor string) {
	g.Helper()
	got := g.want(http.StatusOK, "GET", path, nil).JSON
	for _, item := range got["items"].([]any) {
		row := item.(map[string]any)
		if row["id"] == nil {
			row["id"] = fmt.Sprint(row["seq"])
		}
		ids = append(ids, row["id"].(string))
	}
	cursor, _ = got["next_cursor"].(string)
	if _, told := got["next_cursor"]; cursor == "" && (got["next_cursor"] != nil || !told) {
		g.Errorf("%s: the end of a list is told as %v", path, got["next_cursor"])
	}
	return ids, cursor
}

// walk reads a list to its end. It calls then, when given, after each page.
func (g *rig) walk(path string, then ...func()) (ids []string) {
	g.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	for next := path; ; {
		rows, cursor := g.page(next)
		ids = append(ids, rows...)
		if cursor == "" {
			return ids
		}
		for _, f := range then {
			f()
		}
		next = path + sep + "cursor=" + cursor
	}
}

// topics returns the topics of the whole journal, oldest first.
func (g *rig) topics() []string {
	g.Helper()
	var out []string
	for _, e := range g.want(http.StatusOK, "GET", "/api/v1/events?limit=500", nil).JSON["items"].([]any) {
		out = append(out, e.(map[string]any)["topic"].(string))
	}
	slices.Reverse(out)
	return out
}

func TestEveryListIsReadInPagesAsInOne(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i := range 6 {
		g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": fmt.Sprint("h", i)})
		g.run()
	}
	for _, list := range []string{"projects", "work-items", "runs", "hosts", "events"} {
		path := "/api/v1/" + list + "?limit="
		whole := g.walk(path + "500")
		if len(whole) < 6 || !slices.Equal(whole, slices.Compact(slices.Clone(whole))) {
			t.Fatalf("%s has %v", list, whole)
		}
		for _, limit := range []int{1, 2, len(whole)} { // with the last two limits the last page is exactly full
			if got := g.walk(fmt.Sprint(path, limit)); !slices.Equal(got, whole) {
				t.Errorf("%s in pages of %d: %v, want %v", list, limit, got, whole)
			}
		}
		if rows, cursor := g.page(fmt.Sprint(path, len(whole))); len(rows) != len(whole) || cursor != "" {
			t.Errorf("%s: the last page is full and its cursor is %q, want null", list, cursor)
		}
	}
}

func TestAPageHasFiftyRowsUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i := range 51 {
		g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": fmt.Sprint("h", i)})
	}
	for query, want := range map[string]int{"": 50, "?limit=1": 1, "?limit=500": 51, "?limit=51": 51} {
		if rows, cursor := g.page("/api/v1/hosts" + query); len(rows) != want || (cursor == "") != (want == 51) {
			t.Errorf("%q gives %d rows and the cursor %q, want %d", query, len(rows), cursor, want)
		}
	}
}

func TestAPageOfLargeRecordsEndsEarly(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const items = 80 // 64 KiB each: more than the bytes of a page, fewer than its records
	body := fmt.Sprintf(`{"name":"x","description":%q}`, strings.Repeat("x", 64<<10))
	for range items {
		g.want(http.StatusCreated, "POST", "/api/v1/projects", body)
	}
	first, cursor := g.page("/api/v1/projects?limit=500")
	if n := len(first) << 16; cursor == "" || n < svc.MaxPageBytes || n > svc.MaxPageBytes+1<<17 {
		t.Errorf("the first page has %d records, cursor %q", len(first), cursor)
	}
	all := g.walk("/api/v1/projects?limit=500")
	slices.Sort(all)
	if got := slices.Compact(all); len(got) != items {
		t.Errorf("the pages have %d records, want %d", len(got), items)
	}
}

func TestAListReadWhileRowsComeAndGoGivesEveryOldRowOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	newItem := func() string {
		return g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": "x"}).JSON["id"].(string)
	}
	newRun := func() string {
		return g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b"}).JSON["id"].(string)
	}
	var items, runs []string
	for range 6 {
		items, runs = append(items, newItem()), append(runs, newRun())
	}
	slices.Reverse(runs)
	if got := g.walk("/api/v1/runs?limit=2", func() { newRun() }); !slices.Equal(got, runs) {
		t.Errorf("runs: %v, want %v", got, runs)
	}
	deleted := 0
	got := g.walk("/api/v1/work-items?limit=2&project_id="+project, func() { // records that were already read are removed
		newItem()
		g.want(http.StatusNoContent, "DELETE", "/api/v1/work-items/"+items[deleted], nil)
		deleted++
	})
	if want := append([]string{task}, items...); !slices.Equal(got[:min(7, len(got))], want) || deleted < 3 {
		t.Errorf("items: %v, want %v first", got, want)
	}
}

func TestRunsAndItemsAreFilteredByTheQuery(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	project, task := g.task()
	other, _ := g.task()
	epic := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "epic", "title": "E", "status": "doing"}).JSON["id"].(string)
	child := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "subtask", "title": "C", "parent_id": epic}).JSON["id"].(string)
	grandchild := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": "G", "parent_id": child}).JSON["id"].(string)
	run := func(task string) string {
		return g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b"}).JSON["id"].(string)
	}
	first, second := run(task), run(child)
	elsewhere := g.run()
	g.want(http.StatusAccepted, "POST", "/api/v1/runs/"+first+"/stop", nil)
	for query, want := range map[string][]string{
		"work-items?project_id=" + project:                                       {task, epic, child, grandchild},
		"work-items?project_id=" + project + "&parent_id=null":                   {task, epic},
		"work-items?parent_id=" + epic:                                           {child},
		"work-items?under=" + epic:                                               {child, grandchild},
		"work-items?project_id=" + project + "&status=doing":                     {epic},
		"work-items?project_id=" + project + "&status=doing&status=todo":         {task, epic, child, grandchild},
		"work-items?project_id=" + project + "&kind=task":                        {task, grandchild},
		"work-items?under=" + epic + "&kind=task&status=todo":                    {grandchild},
		"work-items?project_id=" + other + "&under=" + epic:                      nil,
		"runs?project_id=" + project:                                             {second, first},
		"runs?task_id=" + child:                                                  {second},
		"runs?status=stopped":                                                    {first},
		"runs?status=stopped&status=pending":                                     {elsewhere, second, first},
		"runs?status=pending&project_id=" + project + "&task_id=" + task:         nil,
		"runs?host_id=" + host:                                                   nil,
		"events?topic=run.stopped&topic=host.*&limit=2":                          nil,
		"work-items?project_id=" + project + "&parent_id=null&kind=task&limit=1": {task},
	} {
		got := g.walk("/api/v1/" + query)
		if strings.HasPrefix(query, "events") {
			if len(got) != 2 {
				t.Errorf("%s: %v", query, got)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}
