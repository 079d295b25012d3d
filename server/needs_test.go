package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestNeedsAreSetTakenBackAndRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, a := g.task()
	b, c := g.item(project, "B", nil), g.item(project, "C", nil)
	below := g.item(project, "below", map[string]any{"parent_id": a})
	need := func(item, other string) string { return "/api/v1/work-items/" + item + "/needs/" + other }
	item := func(id string) map[string]any {
		t.Helper()
		return g.want(http.StatusOK, "GET", "/api/v1/work-items/"+id, nil).JSON
	}
	if w := item(a); fmt.Sprint(w["needs"]) != "[]" || w["blocked"] != false {
		t.Errorf("a new item is %v", w)
	}
	// Both are idempotent, and the needs of an item are listed by position.
	for _, other := range []string{c, b, b} {
		if got := g.want(http.StatusNoContent, "PUT", need(a, other), nil); got.Body != "" {
			t.Errorf("a need is answered with %q", got.Body)
		}
	}
	if w := item(a); fmt.Sprint(w["needs"]) != fmt.Sprint([]string{b, c}) || w["blocked"] != true {
		t.Errorf("with two needs it is %v", w)
	}
	if w := item(below); fmt.Sprint(w["needs"]) != "[]" || w["blocked"] != true {
		t.Errorf("what is below it is %v", w)
	}
	changes := g.want(http.StatusOK, "GET", "/api/v1/events?topic=work_item.needs_changed&task_id="+a, nil).JSON["items"].([]any)
	if len(changes) != 2 || fmt.Sprint(changes[0].(map[string]any)["payload"].(map[string]any)["needs"]) != fmt.Sprint([]string{b, c}) {
		t.Errorf("journaled were %v", changes)
	}

	// Invalid needs: each error names the field, and a circle also its path, as ids and as text.
	_, foreign := g.task()
	got := g.refuse(http.StatusBadRequest, "validation_failed", "PUT", need(a, foreign), nil)
	if got.fields()["other"] == nil {
		t.Errorf("a need of another project is refused with %s", got.Body)
	}
	for _, line := range [][2]string{{a, a}, {a, below}, {below, a}} {
		if got := g.refuse(http.StatusBadRequest, "need_in_own_line", "PUT", need(line[0], line[1]), nil); got.fields()["other"] == nil {
			t.Errorf("a need in the own line is refused with %s", got.Body)
		}
	}
	g.want(http.StatusNoContent, "PUT", need(b, c), nil)
	got = g.refuse(http.StatusBadRequest, "need_cycle", "PUT", need(c, a), nil)
	path, _ := got.details()["path"].([]any)
	if len(path) < 2 || path[0] != path[len(path)-1] || !slices.Contains(path, any(a)) || !slices.Contains(path, any(c)) || !strings.Contains(got.Body, "T needs ") || got.fields()["other"] == nil {
		t.Errorf("a circle is refused with %s", got.Body)
	}
	got = g.refuse(http.StatusBadRequest, "need_cycle", "PUT", need(c, below), nil)
	if path, _ := got.details()["path"].([]any); !slices.Contains(path, any(below)) {
		t.Errorf("a circle through what is below is refused with %s", got.Body)
	}
	for moved, words := range map[[2]string]string{{c, a}: `T\" needs \"C\", which would be below it`, {a, c}: `T\" needs \"C\", which would be above it`} {
		got = g.refuse(http.StatusBadRequest, "need_in_own_line", "PATCH", "/api/v1/work-items/"+moved[0], map[string]any{"parent_id": moved[1]})
		if got.fields()["parent_id"] == nil || !strings.Contains(got.Body, words) {
			t.Errorf("a move into the line of a need is refused with %s", got.Body)
		}
	}
	d := g.item(project, "D", nil)
	g.want(http.StatusNoContent, "PUT", need(c, d), nil)
	got = g.refuse(http.StatusBadRequest, "need_cycle", "PATCH", "/api/v1/work-items/"+d, map[string]any{"parent_id": a})
	if path, _ := got.details()["path"].([]any); len(path) < 2 || got.fields()["parent_id"] == nil {
		t.Errorf("a move that closes a circle is refused with %s", got.Body)
	}
	for _, gone := range []string{noID, "nope"} {
		g.refuse(http.StatusNotFound, "not_found", "PUT", need(a, gone), nil)
		g.refuse(http.StatusNotFound, "not_found", "PUT", need(gone, a), nil)
	}

	// Delete an item that others need.
	got = g.refuse(http.StatusConflict, "needed", "DELETE", "/api/v1/work-items/"+c, nil)
	if by, _ := got.details()["needed_by"].([]any); len(by) != 2 || !slices.Contains(by, any(a)) || !slices.Contains(by, any(b)) {
		t.Errorf("the deletion of what is needed is refused with %s", got.Body)
	}
	before := len(g.listed("/events?topic=work_item.needs_changed"))
	g.want(http.StatusNoContent, "DELETE", "/api/v1/work-items/"+c+"?detach=true", nil)
	if n := len(g.listed("/events?topic=work_item.needs_changed")) - before; n != 2 {
		t.Errorf("%d removals of needs were journaled, want one for each item that needed it", n)
	}
	if w := item(a); fmt.Sprint(w["needs"]) != fmt.Sprint([]string{b}) {
		t.Errorf("what needed it needs %v", w["needs"])
	}

	// Remove needs, also twice, and also of an item that was deleted.
	for _, other := range []string{b, b, c, noID} {
		g.want(http.StatusNoContent, "DELETE", need(a, other), nil)
	}
	if w := item(a); fmt.Sprint(w["needs"]) != "[]" || w["blocked"] != false {
		t.Errorf("without needs it is %v", w)
	}
	if n := len(g.listed("/events?topic=work_item.unblocked&task_id=" + a)); n != 1 {
		t.Errorf("it was unblocked %d times", n)
	}
}

func TestANeedIsMetByDoneAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, a := g.task()
	b := g.item(project, "B", nil)
	g.want(http.StatusNoContent, "PUT", "/api/v1/work-items/"+a+"/needs/"+b, nil)
	for _, step := range []struct {
		status  string
		blocked bool
	}{{"cancelled", true}, {"doing", true}, {"done", false}, {"todo", true}, {"done", false}} {
		g.want(http.StatusOK, "PATCH", "/api/v1/work-items/"+b, map[string]any{"status": step.status})
		if got := g.want(http.StatusOK, "GET", "/api/v1/work-items/"+a, nil).JSON["blocked"]; got != step.blocked {
			t.Errorf("while what it needs is %s, an item is blocked: %v", step.status, got)
		}
	}
	if n := len(g.listed("/events?topic=work_item.unblocked&task_id=" + a)); n != 2 {
		t.Errorf("it was unblocked %d times, want 2", n)
	}
}
