package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestIfMatchLetsOnlyTheSeenVersionBeChanged(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "h"}).JSON["id"].(string)
	for path, patch := range map[string]func(int) any{
		"/api/v1/projects/" + project: func(i int) any { return map[string]any{"description": fmt.Sprint(i)} },
		"/api/v1/work-items/" + task:  func(i int) any { return map[string]any{"title": fmt.Sprint(i)} },
		"/api/v1/hosts/" + host:       func(i int) any { return map[string]any{"labels": map[string]any{"n": fmt.Sprint(i)}} },
		"/api/v1/hosts/h":             func(i int) any { return map[string]any{"labels": map[string]any{"m": fmt.Sprint(i)}} },
	} {
		old := g.want(http.StatusOK, "GET", path, nil).Header.Get("ETag")
		changed := g.want(http.StatusOK, "PATCH", path, patch(1), with("If-Match", old)).Header.Get("ETag")
		now := g.want(http.StatusOK, "GET", path, nil).Header.Get("ETag")
		if old == "" || changed != now || now == old {
			t.Errorf("%s: tags %s, %s, %s; want one, then another twice", path, old, changed, now)
		}
		for _, stale := range []string{old, `"nonsense"`, `nonsense`, `"-1"`, `"` + strings.Trim(now, `"`) + ` "`, old + `, "77777"`, `""`} {
			g.refuse(http.StatusPreconditionFailed, "precondition_failed", "PATCH", path, patch(2), with("If-Match", stale))
		}
		for i, fits := range []string{"*", "TAG", "W/TAG", old + ", TAG"} {
			tag := g.want(http.StatusOK, "GET", path, nil).Header.Get("ETag")
			g.want(http.StatusOK, "PATCH", path, patch(3+i), with("If-Match", strings.ReplaceAll(fits, "TAG", tag)))
		}
	}
	g.refuse(http.StatusNotFound, "not_found", "PATCH", "/api/v1/projects/"+noID, "{}", with("If-Match", `"1", "2"`))
	g.refuse(http.StatusPreconditionFailed, "precondition_failed", "DELETE", "/api/v1/work-items/"+task, nil, with("If-Match", `"77777"`))
	g.refuse(http.StatusPreconditionFailed, "precondition_failed", "DELETE", "/api/v1/hosts/h", nil, with("If-Match", `"77777"`))
	g.refuse(http.StatusPreconditionFailed, "precondition_failed", "DELETE", "/api/v1/projects/"+project, nil, with("If-Match", `"77777"`))
}

func TestAReadTagThatWasNeverGivenOutFitsNothing(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]int64{
		`"7"`: 7, `W/"7"`: 7, `"07"`: -1, `"+7"`: -1, `7`: -1, `"`: -1, ``: -1, `"x"`: -1, `"99999999999999999999"`: -1,
	} {
		if got := versionOf(tag); got != want {
			t.Errorf("%s: got %d, want %d", tag, got, want)
		}
	}
	none, err := Matching{}.match(t.Context(), func(context.Context) (int64, error) { panic("not asked") })
	if none != nil || err != nil {
		t.Errorf("without the header: got %v, %v", none, err)
	}
}

func TestARepeatedPostAnswersTheFirstResultAgain(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for path, body := range g.creates() {
		key := with("Idempotency-Key", "key of "+path)
		first := g.call("POST", path, body, key)
		again := g.call("POST", path, body, key)
		if first.Status >= 300 || again.Status != first.Status || again.Body != first.Body || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%s: got %d %s, then %d %s", path, first.Status, first.Body, again.Status, again.Body)
		}
		body["name"], body["title"] = "other", "other"
		g.call("POST", path, body)
	}
	k := with("Idempotency-Key", "k")
	g.want(http.StatusCreated, "POST", "/api/v1/projects", `{"name":"one"}`, k)
	g.refuse(http.StatusConflict, "idempotency_key_reused", "POST", "/api/v1/projects", `{"name":"two"}`, k)
	run := g.run()
	stop := with("Idempotency-Key", "stop")
	g.want(http.StatusAccepted, "POST", "/api/v1/runs/"+run+"/stop", nil, stop)
	g.want(http.StatusAccepted, "POST", "/api/v1/runs/"+run+"/stop", nil, stop)
	g.refuse(http.StatusConflict, "run_not_active", "POST", "/api/v1/runs/"+run+"/stop", nil)
}

func TestAnIdempotencyKeyIsPrintableAndBounded(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, bad := range []string{"", strings.Repeat("k", 256), "kéy", "a\tb"} {
		got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/projects", `{"name":"x"}`, with("Idempotency-Key", bad))
		if got.fields()["Idempotency-Key"] == nil {
			t.Errorf("%q: got %s", bad, got.Body)
		}
	}
	twice := func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }
	g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/projects", `{"name":"x"}`, twice)
	g.want(http.StatusCreated, "POST", "/api/v1/projects", `{"name":"x"}`, with("Idempotency-Key", strings.Repeat("~ ", 127)+"!"))
}
