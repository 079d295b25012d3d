package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/store"
)

// queued creates a run of a task with additional fields.
func (g *rig) queued(task string, fields map[string]any) map[string]any {
	g.Helper()
	body := map[string]any{"task_id": task, "provider": "provider_b"}
	maps.Copy(body, fields)
	return g.want(http.StatusAccepted, "POST", "/api/v1/runs", body).JSON
}

// item creates a task in a project.
func (g *rig) item(project, title string, fields map[string]any) string {
	g.Helper()
	body := map[string]any{"project_id": project, "kind": "task", "title": title}
	maps.Copy(body, fields)
	return g.want(http.StatusCreated, "POST", "/api/v1/work-items", body).JSON["id"].(string)
}

// listed returns the ids of a list, in its order.
func (g *rig) listed(path string) []string {
	g.Helper()
	return fieldOf(g.want(http.StatusOK, "GET", "/api/v1"+path, nil).JSON["items"], "id")
}

// fieldOf returns one field of each element.
func fieldOf(list any, field string) (out []string) {
	for _, v := range list.([]any) {
		out = append(out, fmt.Sprint(v.(map[string]any)[field]))
	}
	return out
}

func keys(record any) []string { return slices.Sorted(maps.Keys(record.(map[string]any))) }

func TestHowARunWaitsIsGivenAndTold(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	plain := g.queued(task, nil)
	for field, want := range map[string]any{"wait": false, "priority": 0.0, "not_before": nil, "host_labels": map[string]any{}, "ignore_needs": false, "created_by": "owner"} {
		if got := plain[field]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v by itself, want %v", field, got, want)
		}
	}
	at := svc.TimeOf(time.Now().Add(time.Hour)).String()
	all := g.queued(task, map[string]any{"wait": true, "priority": -2, "not_before": at, "host_labels": map[string]any{"gpu": "yes"}, "ignore_needs": true})
	for field, want := range map[string]any{"wait": true, "priority": -2.0, "not_before": at, "host_labels": map[string]any{"gpu": "yes"}, "ignore_needs": true} {
		if got := all[field]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s was given as %v and is %v", field, want, got)
		}
	}
	made := g.want(http.StatusOK, "GET", "/api/v1/events?topic=run.created&run_id="+all["id"].(string), nil).JSON["items"].([]any)
	if len(made) != 1 || made[0].(map[string]any)["payload"].(map[string]any)["ignore_needs"] != true {
		t.Errorf("journaled was %v, want ignore_needs in it", made)
	}

	// Only hosts are missing.
	waiting := func(id any) map[string]any {
		t.Helper()
		return g.want(http.StatusOK, "GET", "/api/v1/runs/"+id.(string), nil).JSON["waiting"].(map[string]any)
	}
	w := waiting(plain["id"])
	if want := []string{"hosts", "hosts_total", "not_before", "position", "times_out_at", "why"}; !slices.Equal(keys(w), want) {
		t.Errorf("waiting has %v, want %v", keys(w), want)
	}
	if why := w["why"].([]any); len(why) != 0 || w["position"] != 1.0 || w["times_out_at"] == nil {
		t.Errorf("a run that only hosts are missing for waits %v", w)
	}
	// Another condition prevents the placement.
	if w = waiting(all["id"]); w["position"] != nil || w["times_out_at"] != nil || !slices.Equal(fieldOf(w["why"], "code"), []string{"not_before"}) {
		t.Errorf("a run that is not to start yet waits %v", w)
	}
	other := g.item(project, "other", nil)
	g.want(http.StatusNoContent, "PUT", "/api/v1/work-items/"+task+"/needs/"+other, nil)
	w = waiting(plain["id"])
	hold := w["why"].([]any)[0].(map[string]any)
	if hold["code"] != "blocked" || fmt.Sprint(hold["needs"]) != fmt.Sprint([]string{other}) || !slices.Equal(keys(hold), []string{"code", "message", "needs"}) || w["position"] != nil {
		t.Errorf("a run of a blocked task waits %v", w)
	}
	g.want(http.StatusOK, "PATCH", "/api/v1/projects/"+project, map[string]any{"max_runs": 0})
	if w = waiting(plain["id"]); !slices.Equal(fieldOf(w["why"], "code"), []string{"blocked", "project_full"}) {
		t.Errorf("in a full project it waits %v", w)
	}
}

func TestManyHostsAreCountedAndSomeExplained(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.run()
	for i := range svc.MostWithheld + 2 {
		g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": fmt.Sprint("h", i)})
	}
	w := g.want(http.StatusOK, "GET", "/api/v1/runs/"+id, nil).JSON["waiting"].(map[string]any)
	if hosts := w["hosts"].([]any); len(hosts) != 50 || w["hosts_total"] != 52.0 || hosts[0].(map[string]any)["why"] != "never_seen" {
		t.Errorf("%d of %v hosts are explained, the first as %v", len(hosts), w["hosts_total"], hosts[0])
	}
}

func TestAWrongWayToWaitIsNamed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, task := g.task()
	id := g.queued(task, nil)["id"].(string)
	long := strings.Repeat("x", 501)
	for body, field := range map[string]string{
		`"priority":3`: "priority", `"priority":-3`: "priority", `"priority":1.5`: "priority", `"priority":"high"`: "priority", `"priority":null`: "priority",
		`"wait":"yes"`: "wait", `"wait":null`: "wait", `"not_before":"soon"`: "not_before",
		`"host_labels":["gpu"]`: "host_labels", `"host_labels":{"gpu":1}`: "host_labels.gpu", `"host_labels":{"":"yes"}`: "host_labels",
		`"host_labels":{"gpu":"` + long + `"}`: "host_labels", `"host_labels":{"a\nb":"yes"}`: "host_labels", `"host_labels":null`: "host_labels",
		`"ignore_needs":1`: "ignore_needs",
	} {
		for path, more := range map[string]string{"/api/v1/runs": `"task_id":"` + task + `","provider":"provider_b",`, "/api/v1/runs/" + id + "/rerun": ""} {
			if got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, "{"+more+body+"}"); got.fields()[field] == nil {
				t.Errorf("POST %s %.60s: %s, want %s named", path, body, got.Body, field)
			}
		}
	}
	for body, field := range map[string]string{`{"priority":3}`: "priority", `{"priority":null}`: "priority", `{"wait":null}`: "wait", `{"not_before":"soon"}`: "not_before", `{"host_labels":{}}`: "host_labels"} {
		if got := g.refuse(http.StatusBadRequest, "validation_failed", "PATCH", "/api/v1/runs/"+id, body); got.fields()[field] == nil {
			t.Errorf("PATCH %s: %s, want %s named", body, got.Body, field)
		}
	}
	if got := g.listed("/runs"); len(got) != 1 {
		t.Errorf("after the refusals there are %d runs", len(got))
	}
}

func TestAWaitingRunIsPatchedMadeAgainAndStopped(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	at := svc.TimeOf(time.Now().Add(time.Hour)).String()
	made := g.queued(task, map[string]any{"prompt": "do it", "args": []string{"-v"}, "env": map[string]any{"A": "b"}, "host_labels": map[string]any{"gpu": "yes"}, "model": "m"})
	path := "/api/v1/runs/" + made["id"].(string)
	tag := g.want(http.StatusOK, "GET", path, nil).Header.Get("ETag")
	got := g.want(http.StatusOK, "PATCH", path, map[string]any{"priority": 2, "wait": true, "not_before": at}, with("If-Match", tag))
	if got.JSON["priority"] != 2.0 || got.JSON["wait"] != true || got.JSON["not_before"] != at || got.Header.Get("ETag") == tag {
		t.Errorf("patched, it is %s", got.Body)
	}
	g.want(http.StatusPreconditionFailed, "PATCH", path, map[string]any{"priority": 1}, with("If-Match", tag))
	if got = g.want(http.StatusOK, "PATCH", path, map[string]any{"not_before": nil}); got.JSON["not_before"] != nil || got.JSON["priority"] != 2.0 {
		t.Errorf("what was not named has changed: %s", got.Body)
	}
	if n := len(g.listed("/events?topic=run.updated")); n != 2 {
		t.Errorf("%d changes were journaled, want 2", n)
	}

	again := g.want(http.StatusAccepted, "POST", path+"/rerun", map[string]any{"model": "other", "priority": 1})
	for field, want := range map[string]any{"model": "other", "priority": 1, "prompt": "do it", "args": []string{"-v"}, "env": map[string]any{"A": "b"}, "wait": true,
		"host_labels": map[string]any{"gpu": "yes"}, "task_id": task, "status": "pending", "attempt": 1} {
		if got := again.JSON[field]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("made again, %s is %v, want %v", field, got, want)
		}
	}
	if again.Header.Get("Location") != "/api/v1/runs/"+again.JSON["id"].(string) || again.JSON["id"] == made["id"] {
		t.Errorf("made again, it is at %s", again.Header.Get("Location"))
	}
	g.want(http.StatusAccepted, "POST", path+"/rerun", nil)

	// Exactly one scope, and no more runs than the limit of a request.
	below := g.item(project, "below", map[string]any{"parent_id": task})
	deep := g.queued(below, nil)["id"].(string)
	elsewhere := g.run()
	for _, bad := range []any{`{}`, map[string]any{"task_id": task, "project_id": project}, map[string]any{"run_ids": []string{}}, map[string]any{"run_ids": slices.Repeat([]string{noID}, 501)},
		map[string]any{"project_id": noID}, map[string]any{"host_id": noID}, map[string]any{"task_id": noID}, map[string]any{"run_ids": []string{"x"}}} {
		g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/runs/stop", bad)
	}
	stopped := g.want(http.StatusAccepted, "POST", "/api/v1/runs/stop", map[string]any{"task_id": task}).JSON
	if ids := stopped["stopped"].([]any); len(ids) != 4 || !slices.Contains(ids, any(deep)) || slices.Contains(ids, any(elsewhere)) || len(stopped["skipped"].([]any)) != 0 {
		t.Errorf("stopped at and below a task were %v", stopped)
	}
	stopped = g.want(http.StatusAccepted, "POST", "/api/v1/runs/stop", map[string]any{"run_ids": []string{deep, elsewhere}}).JSON
	if fmt.Sprint(stopped["stopped"]) != fmt.Sprint([]string{elsewhere}) || fmt.Sprint(stopped["skipped"]) != fmt.Sprint([]string{deep}) {
		t.Errorf("of two runs, one of them over, %v", stopped)
	}
	last := g.queued(task, nil)["id"].(string)
	if stopped = g.want(http.StatusAccepted, "POST", "/api/v1/runs/stop", map[string]any{"project_id": project}).JSON; fmt.Sprint(stopped["stopped"]) != fmt.Sprint([]string{last}) {
		t.Errorf("stopped in the project were %v", stopped)
	}
	refused := g.refuse(http.StatusConflict, "run_not_pending", "PATCH", path, map[string]any{"priority": 1})
	if !strings.Contains(refused.Body, "svc run rerun") || refused.details()["status"] != "stopped" {
		t.Errorf("a change of a run that is over is refused with %s", refused.Body)
	}
}

func TestRunsAreFilteredCountedAndSummed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, task := g.task()
	const secret = "hunter2"
	text := strings.Repeat("é", 300)
	other := g.want(http.StatusCreated, "POST", "/api/v1/tokens", map[string]any{"name": "ci", "role": "operator"}).JSON["token"].(string)
	low := g.queued(task, map[string]any{"prompt": text, "args": []string{secret}, "env": map[string]any{"PASSWORD": secret}, "priority": -1})["id"].(string)
	high := g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_a", "priority": 1}, token(other)).JSON["id"].(string)
	asking := g.queued(task, nil)["id"].(string)
	if err := g.Engine.Store.Write(t.Context(), func(tx *store.Tx) error {
		r, err := tx.LockRun(t.Context(), asking)
		if err != nil {
			return err
		}
		r.Status, r.NeedsInput, r.AskedAt = svc.RunRunning, true, &tx.Now
		return tx.UpdateRun(t.Context(), &r)
	}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"needs_input=true": {asking}, "needs_input=false": {high, low}, "provider=provider_a": {high}, "created_by=ci": {high}, "created_by=owner": {asking, low},
		"created_by=nobody": nil, "provider=provider_b&needs_input=true": {asking}, "status=pending&order=queue": {high, low}, "status=pending": {high, low},
		"status=pending&order=queue&created_by=owner": {low},
	} {
		if got := g.listed("/runs?" + query); !slices.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", query, got, want)
		}
		if strings.Contains(query, "order") {
			continue
		}
		counts := g.want(http.StatusOK, "GET", "/api/v1/runs/counts?"+query, nil).JSON
		wantCounts := map[string]any{"pending": 0.0, "spawning": 0.0, "running": 0.0, "exited": 0.0, "failed": 0.0, "stopped": 0.0, "needs_input": 0.0}
		for _, id := range want {
			if id == asking {
				wantCounts["running"], wantCounts["needs_input"] = 1.0, 1.0
			} else {
				wantCounts["pending"] = wantCounts["pending"].(float64) + 1
			}
		}
		if !maps.Equal(counts, wantCounts) {
			t.Errorf("%s counts %v, want %v", query, counts, wantCounts)
		}
	}
	for _, bad := range []string{"order=queue", "order=queue&status=running", "order=queue&status=pending&status=running", "order=sideways", "needs_input=maybe"} {
		field, _, _ := strings.Cut(bad, "=")
		if got := g.refuse(http.StatusBadRequest, "validation_failed", "GET", "/api/v1/runs?"+bad, nil); got.fields()[field] == nil {
			t.Errorf("%s is refused with %s", bad, got.Body)
		}
	}
	list := g.want(http.StatusOK, "GET", "/api/v1/runs?provider=provider_b&needs_input=false", nil)
	summary := list.JSON["items"].([]any)[0].(map[string]any)
	if summary["prompt_excerpt"] != strings.Repeat("é", 200) || strings.Contains(list.Body, secret) {
		t.Errorf("a list tells %s", list.Body)
	}
	for _, field := range []string{"prompt", "args", "env"} {
		if _, there := summary[field]; there {
			t.Errorf("a list has %s", field)
		}
	}
	whole := g.want(http.StatusOK, "GET", "/api/v1/runs/"+low, nil)
	if whole.JSON["prompt"] != text || !strings.Contains(whole.Body, secret) {
		t.Errorf("the run itself is %s", whole.Body)
	}
	if _, there := whole.JSON["prompt_excerpt"]; there {
		t.Error("the run itself has an excerpt")
	}

	// The snapshot of a stream contains summaries too.
	_, lines := g.follow(t.Context(), "?last_event_id=999999")
	m := strings.Join(take(t, lines), "\n")
	if !strings.Contains(m, "event: snapshot") || !strings.Contains(m, `"prompt_excerpt"`) || strings.Contains(m, secret) || strings.Contains(m, `"env"`) || strings.Contains(m, `"args"`) || strings.Contains(m, `"prompt"`) {
		t.Errorf("the snapshot is %.3000s", m)
	}
}
