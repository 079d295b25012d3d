package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"svc/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file under testdata. These files are the contract as data.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed; is that meant? (go test -update writes it)\ngot:\n%s", file, got)
	}
}

var varies = []struct {
	form *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`svc-[0-9a-f]{8}`), "svc-SESSION"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"},
	{regexp.MustCompile(`"next_cursor": "[^"]+"`), `"next_cursor": "CURSOR"`},
}

// steady returns a response in indented form, with the values that differ between test runs replaced.
func steady(t *testing.T, r reply) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(r.Body), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	out := b.Bytes()
	for _, v := range varies {
		out = v.form.ReplaceAll(out, []byte(v.text))
	}
	return append([]byte(fmt.Sprintf("%d\n", r.Status)), out...)
}

func TestAnswersLookAsTheyAlwaysDid(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project := g.want(http.StatusCreated, "POST", "/api/v1/projects", `{"name":"Émile's Project","description":"d","cwd":"/srv"}`)
	golden(t, "project.json", steady(t, project))
	item := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project.JSON["id"], "kind": "task", "title": "T"})
	golden(t, "work_item.json", steady(t, item))
	golden(t, "run.json", steady(t, g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{
		"task_id": item.JSON["id"], "provider": "provider_b", "prompt": "do it", "args": []string{"-x"}, "env": map[string]string{"A": "B"},
	})))
	golden(t, "host.json", steady(t, g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h","labels":{"gpu":"yes"},"max_runs":4}`)))
	golden(t, "registered.json", steady(t, g.want(http.StatusOK, "POST", "/api/internal/worker/register",
		wire.Registration{HostName: "h", Platform: "linux", InstanceID: noID, Capabilities: []string{"keys", "stop", "teleport"}}, token(workerToken))))
	golden(t, "providers.json", steady(t, g.want(http.StatusOK, "GET", "/api/v1/providers", nil)))
	golden(t, "events.json", steady(t, g.want(http.StatusOK, "GET", "/api/v1/events?topic=run.*&topic=project.*", nil)))
	golden(t, "list.json", steady(t, g.want(http.StatusOK, "GET", "/api/v1/runs?status=stopped", nil)))
	golden(t, "validation_failed.json", steady(t, g.want(http.StatusBadRequest, "POST", "/api/v1/hosts", `{"nam":"h","max_runs":-1}`)))
	golden(t, "not_found.json", steady(t, g.want(http.StatusNotFound, "GET", "/api/v1/runs/"+noID, nil)))
	golden(t, "missing_attempt.json", steady(t, g.want(http.StatusBadRequest, "POST", "/api/internal/runs/"+g.run()+"/signals",
		`{"kind":"started","source":"wrapper","payload":{},"timestamp":"2030-01-02T03:04:05Z"}`, token(workerToken))))
}

func TestTheDescriptionIsTheOneThatIsCheckedIn(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	golden(t, "openapi.json", []byte(g.want(http.StatusOK, "GET", "/api/v1/openapi.json", nil, noToken).Body))
}
