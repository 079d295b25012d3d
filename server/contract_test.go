package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc/api"
)

// contract is the API description in the form that clients read. It validates every response that a test of this
// package gets from a rig.
type contract map[string]any

var theContract = sync.OnceValues(func() (contract, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "openapi.json"))
	if err != nil {
		return nil, err
	}
	var c contract
	return c, json.Unmarshal(text, &c)
})

// undescribed are the documents of the description, and the routes that tests add.
var undescribed = []string{"/openapi.json", "/docs", "/wait", "/old"}

// validatingTransport fails the test when a response does not match the description.
type validatingTransport struct{ t testing.TB }

// RoundTrip sends a request and validates the response. The content of a stream is not read.
func (v validatingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	path, public := strings.CutPrefix(r.URL.Path, api.Prefix)
	if err != nil || !public || r.Method == http.MethodHead || slices.Contains(undescribed, path) || *update {
		return res, err
	}
	c, err := theContract()
	if err != nil {
		return nil, err
	}
	var body []byte
	if res.Header.Get("Content-Type") == "application/json" {
		body, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	}
	for _, problem := range c.check(r.Method, path, res.StatusCode, res.Header.Get("Content-Type"), body) {
		v.t.Errorf("%s %s answers %d, which is not as described: %s\n%s", r.Method, path, res.StatusCode, problem, body)
	}
	return res, nil
}

// failing is a reader that ends a body with the error that the transport got; nil: io.EOF.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// check returns what is wrong with a response.
func (c contract) check(method, path string, status int, media string, body []byte) []string {
	op, ok := c.operation(method, path)
	if !ok {
		if status < 400 {
			return []string{"there is no such operation"}
		}
		return c.json(map[string]any{"$ref": "#/components/schemas/ErrorAnswer"}, body)
	}
	answers, _ := op["responses"].(map[string]any)
	answer, ok := answers[fmt.Sprint(status)].(map[string]any)
	if !ok {
		return []string{"the status is not described"}
	}
	content, _ := answer["content"].(map[string]any)
	if len(content) == 0 && media == "" {
		return nil
	}
	described, ok := content[media].(map[string]any)
	switch {
	case !ok:
		return []string{fmt.Sprintf("the content type %q is not described", media)}
	case media != "application/json":
		return nil
	}
	return c.json(described["schema"], body)
}

// operation returns the described operation for a path. A literal segment takes precedence over a parameter.
func (c contract) operation(method, path string) (op map[string]any, ok bool) {
	best := -1
	paths, _ := c["paths"].(map[string]any)
	for pattern, item := range paths {
		found, has := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
		if literal := literals(pattern, path); has && literal > best {
			op, ok, best = found, true, literal
		}
	}
	return op, ok
}

// literals counts the literal segments of a pattern that matches a path; -1: no match.
func literals(pattern, path string) int {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return -1
	}
	n := 0
	for i := range want {
		switch {
		case want[i] == got[i]:
			n++
		case !strings.HasPrefix(want[i], "{"):
			return -1
		}
	}
	return n
}

func (c contract) json(schema any, body []byte) []string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return []string{"the body is no JSON: " + err.Error()}
	}
	return c.validate(schema, v, "body")
}

func TestAnAnswerThatIsNotAsDescribedIsFound(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"stopped":["7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11"],"skipped":[]}`
	for body, want := range map[string]string{
		good:                             "",
		`{"stopped":[]}`:                 "skipped is missing",
		`{"stopped":[],"skipped":null}`:  "not of type array",
		`{"stopped":["x"],"skipped":[]}`: "is no uuid",
		`{"stopped":[],"skipped":[],"colour":"red"}`: "colour is not described",
		"none": "no JSON",
	} {
		got := strings.Join(c.check("POST", "/runs/stop", http.StatusAccepted, "application/json", []byte(body)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n got %q\nwant %q", body, got, want)
		}
	}
	const refusal = `{"error":{"code":"asleep","message":"no"}}`
	if got := strings.Join(c.check("POST", "/runs/stop", http.StatusConflict, "application/json", []byte(refusal)), "; "); !strings.Contains(got, "asleep is none of") {
		t.Errorf("an unknown code: got %q", got)
	}
	if got := c.check("POST", "/runs/stop", http.StatusTeapot, "application/json", []byte(good)); len(got) == 0 {
		t.Error("a status that is not described was let through")
	}
	if got := c.check("POST", "/runs/stop", http.StatusAccepted, "text/plain", []byte(good)); len(got) == 0 {
		t.Error("a content type that is not described was let through")
	}
}

func TestEveryExampleIsWhatItsFieldMayHold(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	components, _ := c["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for name, schema := range schemas {
		fields, _ := schema.(map[string]any)["properties"].(map[string]any)
		for field, of := range fields {
			examples, _ := of.(map[string]any)["examples"].([]any)
			for _, example := range examples {
				seen++
				for _, problem := range c.validate(of, example, name+"."+field) {
					t.Error(problem)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("there are %d examples", seen)
	}
}

func TestTheMessagesOfTheStreamAreAsDescribed(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	op, _ := c.operation("GET", "/events/stream")
	described := op["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)["text/event-stream"].(map[string]any)
	g := newRig(t)
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`)
	g.run()
	for _, cursor := range []string{"0", "1000000"} { // a cursor from which it resumes, and one that the journal has never reached
		_, lines := g.follow(t.Context(), "?last_event_id="+cursor)
		message := map[string]any{}
		for _, line := range take(t, lines) {
			name, value, _ := strings.Cut(line, ": ")
			message[name] = value
		}
		if got, want := message["event"] == "snapshot", cursor != "0"; got != want {
			t.Errorf("from %s: got %v", cursor, message)
		}
		id, err := strconv.ParseFloat(fmt.Sprint(message["id"]), 64)
		if err != nil {
			t.Error(err)
		}
		var data any
		if err := json.Unmarshal([]byte(fmt.Sprint(message["data"])), &data); err != nil {
			t.Error(err)
		}
		message["id"], message["data"] = id, data
		for _, problem := range c.validate(described["schema"], []any{message}, "stream") {
			t.Error(problem)
		}
	}
}
