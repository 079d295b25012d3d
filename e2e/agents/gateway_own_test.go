package agents

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// vendor has the requests of one protocol for the tests of the gateway.
type vendor struct {
	protocol string
	path     func(stream bool) string
	body     func(prompt string, stream, result bool) object
	call     string // text in a response that calls the shell
	end      string // text in the last event of a stream
}

var shellSchema = object{
	"type": "object", "required": []any{"command", "description"},
	"properties": object{"command": object{"type": "string"}, "description": object{"type": "string"}},
}

var vendors = []vendor{
	{
		"chat", fixed("/v1/chat/completions"), func(prompt string, stream, result bool) object {
			messages := []any{object{"role": "system", "content": "be nice"}, object{"role": "user", "content": prompt}}
			if result {
				messages = append(messages, object{"role": "tool", "content": "ok"})
			}
			return object{
				"model": "m", "stream": stream, "messages": messages,
				"tools": []any{object{"type": "function", "function": object{"name": "bash", "parameters": shellSchema}}},
			}
		}, `"tool_calls":[`, "[DONE]",
	},
	{
		"responses", fixed("/v1/responses"), func(prompt string, stream, result bool) object {
			input := []any{object{"role": "user", "content": []any{object{"type": "input_text", "text": prompt}}}}
			if result {
				input = append(input, object{"type": "function_call_output", "output": "ok"})
			}
			return object{
				"model": "m", "stream": stream, "input": input,
				"tools": []any{object{"type": "function", "name": "bash", "parameters": shellSchema}},
			}
		}, `"type":"function_call"`, "response.completed",
	},
	{
		"messages", fixed("/v1/messages"), func(prompt string, stream, result bool) object {
			messages := []any{object{"role": "user", "content": []any{object{"type": "text", "text": prompt}}}}
			if result {
				messages = append(messages, object{"role": "user", "content": []any{object{"type": "tool_result", "content": "ok"}}})
			}
			return object{
				"model": "m", "stream": stream, "messages": messages,
				"tools": []any{object{"name": "bash", "input_schema": shellSchema}},
			}
		}, `"type":"tool_use"`, "message_stop",
	},
	{
		"gemini", func(stream bool) string {
			if stream {
				return "/v1beta/models/m:streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/m:generateContent"
		}, func(prompt string, _, result bool) object {
			contents := []any{object{"role": "user", "parts": []any{object{"text": prompt}}}}
			if result {
				contents = append(contents, object{"role": "user", "parts": []any{object{"functionResponse": object{"name": "bash"}}}})
			}
			return object{"contents": contents, "tools": []any{object{"functionDeclarations": []any{
				object{"name": "bash", "parametersJsonSchema": shellSchema},
			}}}}
		}, `"functionCall":`, "finishReason",
	},
}

func fixed(path string) func(bool) string { return func(bool) string { return path } }

func (v vendor) ask(ctx context.Context, g *gateway, prompt string, stream, result bool) (int, string, error) {
	body := strings.NewReader(encoded(v.body(prompt, stream, result)))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+v.path(stream), body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer k")
	got, err := g.Client().Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	return got.StatusCode, string(text), err
}

func TestTheGatewayAnswersAsThePromptWantsItInEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		for _, stream := range []bool{false, true} {
			g := newGateway(t)
			for _, tt := range []struct {
				prompt string
				result bool
				status int
				holds  string
			}{
				{"hello", false, 200, "nothing to add"},
				{"{{run: touch a; touch b}}", false, 200, "touch a; touch b"},
				{"{{run: touch a; touch b}}", false, 200, v.call},
				{"{{run: touch a; touch b}}", true, 200, "nothing to add"},
				{"{{wait: 1ms}}", false, 200, "nothing to add"},
				{"{{fail: 429}}", false, 429, "the gateway refuses"},
			} {
				status, text, err := v.ask(t.Context(), g, tt.prompt, stream, tt.result)
				if err != nil || status != tt.status || !strings.Contains(text, tt.holds) {
					t.Errorf("%s, stream %v, %s: %d, %v, want %d and %q in\n%s", v.protocol, stream, tt.prompt, status, err, tt.status, tt.holds, text)
				}
				if ended := strings.Contains(text, v.end); stream && status == 200 && !ended {
					t.Errorf("%s, %s: the stream does not end with %s:\n%s", v.protocol, tt.prompt, v.end, text)
				}
			}
			kept := g.questions(userTextContains("hello"))
			if len(kept) != 1 || kept[0].protocol != v.protocol || kept[0].key != "k" || kept[0].model != "m" || kept[0].stream != stream {
				t.Errorf("%s, stream %v: the stored requests are %+v", v.protocol, stream, kept)
			}
		}
	}
}

func TestTheGatewayLetsGoOfAToolThatGoesAway(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		g := newGateway(t)
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, _, err := v.ask(ctx, g, "{{wait: 1h}}", true, false)
			gone <- err
		}()
		if err := g.await(30*time.Second, userTextContains("{{wait")); err != nil {
			t.Fatal(err)
		}
		leave()
		if err := <-gone; err == nil {
			t.Errorf("%s: a response arrived although the request was cancelled", v.protocol)
		}
		g.Close() // waits until no request is in progress
	}
}

func TestTheTableOfResultsIsOfTheVersionsThatAreInstalled(t *testing.T) {
	t.Parallel()
	_, table, _ := split(t)
	rows := strings.Split(strings.TrimSpace(table), "\n")
	all := pins(t)
	if len(rows) != len(all)+2 {
		t.Fatalf("%s has %d rows of tools, want %d: make test-agents UPDATE=1", guide, len(rows)-2, len(all))
	}
	for i, p := range all {
		if row := rows[i+2]; !strings.HasPrefix(row, "| "+p.tool+" "+p.version+" |") || strings.Count(row, " |") != len(cases)+1 {
			t.Errorf("%s: %q is not of %s %s: make test-agents UPDATE=1", guide, row, p.tool, p.version)
		}
	}
}

func TestTheTableOfResultsKeepsWhatWasNotTried(t *testing.T) {
	t.Parallel()
	_, table, _ := split(t)
	all := pins(t)
	same := results{}
	same.fill(table, all)
	if got := same.table(all); got != strings.TrimSpace(table)+"\n" {
		t.Errorf("with nothing tried the table becomes\n%s", got)
	}
	raised := slices.Clone(all)
	raised[0].version += ".1"
	now := results{}
	now.keep(all[1].tool, cases[0].name, "a | b")
	now.fill(table, raised)
	for tool, want := range map[string]string{all[0].tool: notTried, all[1].tool: "a | b", all[2].tool: same[all[2].tool][cases[0].name]} {
		if got := now[tool][cases[0].name]; got != want || got == "" {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
	again := results{}
	again.fill(now.table(raised), raised)
	if !reflect.DeepEqual(again, now) {
		t.Errorf("read back as %v, want %v", again, now)
	}
}
