package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
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
	creates := g.creates()
	before := len(g.topics())
	for path, body := range creates {
		key := with("Idempotency-Key", "key of "+path)
		first := g.call("POST", path, body, key)
		again := g.call("POST", path, body, key)
		if first.Status >= 300 || again.Status != first.Status || again.Body != first.Body || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%s: got %d %s, then %d %s", path, first.Status, first.Body, again.Status, again.Body)
		}
		if body["name"] != nil {
			body["name"] = "another" // the name must be unique
		}
		other := g.call("POST", path, body, with("Idempotency-Key", "another key of "+path))
		if other.Status != first.Status || other.JSON["id"] == first.JSON["id"] {
			t.Errorf("%s under another key: got %d %s", path, other.Status, other.Body)
		}
	}
	if n := len(g.topics()) - before; n != 2*len(creates) {
		t.Errorf("%d events were journaled, want two of each", n)
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

func TestOneKeyOfManyPostsAtOnceMakesOneRecord(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	creates := g.creates()
	before := len(g.topics())
	for path, body := range creates {
		replies := make([]reply, 20)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = g.call("POST", path, body, with("Idempotency-Key", "of "+path)) })
		}
		wg.Wait()
		for _, r := range replies {
			if r.Status >= 300 || r.JSON["id"] == nil || r.JSON["id"] != replies[0].JSON["id"] {
				t.Errorf("%s: got %d %s beside %s", path, r.Status, r.Body, replies[0].Body)
			}
		}
	}
	if n := len(g.topics()) - before; n != len(creates) {
		t.Errorf("%d events were journaled, want one of each", n)
	}
}

func TestOfManyPatchesOfOneVersionExactlyOnePasses(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	for path, field := range map[string]string{"/api/v1/projects/" + project: "name", "/api/v1/work-items/" + task: "title", "/api/v1/hosts/" + host: "name"} {
		before := len(g.topics())
		tag := with("If-Match", g.want(http.StatusOK, "GET", path, nil).Header.Get("ETag"))
		replies := make([]reply, 10)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = g.call("PATCH", path, map[string]any{field: fmt.Sprint("n", i)}, tag) })
		}
		wg.Wait()
		var won any
		passed := 0
		for _, r := range replies {
			if r.Status == http.StatusOK {
				passed++
				won = r.JSON[field]
			} else if r.Status != http.StatusPreconditionFailed || r.code() != "precondition_failed" {
				t.Errorf("%s: got %d %s", path, r.Status, r.Body)
			}
		}
		if got := g.want(http.StatusOK, "GET", path, nil).JSON[field]; passed != 1 || got != won {
			t.Errorf("%s: %d passed and the record is %v, want one and %v", path, passed, got, won)
		}
		if n := len(g.topics()) - before; n != 1 {
			t.Errorf("%s: %d events were journaled, want the one of the change", path, n)
		}
	}
}

func TestALocationLeadsToTheRecordThatWasMade(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for path, body := range g.creates() {
		made := g.call("POST", path, body)
		want := http.StatusCreated
		if path == "/api/v1/runs" {
			want = http.StatusAccepted
		}
		found := g.want(http.StatusOK, "GET", made.Header.Get("Location"), nil)
		if made.Status != want || found.JSON["id"] != made.JSON["id"] || made.JSON["id"] == nil {
			t.Errorf("%s: made %d %s, its Location %q is %s", path, made.Status, made.Body, made.Header.Get("Location"), found.Body)
		}
	}
}

func TestATakenNameIsAConflictAndMakesNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(http.StatusCreated, "POST", "/api/v1/projects", `{"name":"P","slug":"mine"}`)
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`)
	other := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"i"}`).JSON["id"].(string)
	before := len(g.topics())
	g.refuse(http.StatusConflict, "conflict", "POST", "/api/v1/projects", `{"name":"Q","slug":"mine"}`)
	g.refuse(http.StatusConflict, "conflict", "POST", "/api/v1/hosts", `{"name":"h"}`)
	g.refuse(http.StatusConflict, "conflict", "PATCH", "/api/v1/hosts/"+other, `{"name":"h"}`)
	if len(g.walk("/api/v1/projects")) != 1 || len(g.walk("/api/v1/hosts")) != 2 || len(g.topics()) != before {
		t.Error("a refused create left something")
	}
}

func TestAPromptOfAnyCharactersComesBackUnchanged(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, task := g.task()
	prompt := strings.Repeat("日本語 \U0001F680 \u2028 \x1b[31m <b>&amp; \\ \" ' ` $(rm -rf /) \r\n\t \u007f\u0085 e\u0301 \ufeff ", 3000)
	if len(prompt) < 200<<10 {
		t.Fatalf("the prompt has %d bytes", len(prompt))
	}
	made := g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b", "prompt": prompt})
	got := g.want(http.StatusOK, "GET", made.Header.Get("Location"), nil)
	if made.JSON["prompt"] != prompt || got.JSON["prompt"] != prompt {
		t.Error("the prompt came back changed")
	}
}
