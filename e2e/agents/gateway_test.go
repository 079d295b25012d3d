package agents

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// gateway is a stand-in for a model gateway. It implements the four protocols that agent tools use. A
// directive in the prompt determines the response:
//
//	{{run: COMMAND}}   one call of the tool's shell; after its result a short text
//	{{fail: STATUS}}   an API error with this HTTP status
//	{{wait: DURATION}} the response comes after this time, unless the tool closes the connection before
//
// Without a directive the response is a short text. The gateway stores every request.
type gateway struct {
	*httptest.Server
	mu    sync.Mutex // guards the rest
	asked []question
	other []string      // requests to unknown paths, for error messages
	news  chan struct{} // closed and replaced with each question
}

// question is a request for one turn of a conversation, independent of its protocol.
type question struct {
	protocol string
	model    string
	key      string // the credential the tool sent
	stream   bool
	user     []string // the user's texts, in order
	tools    []toolSpec
	answered bool // the conversation contains a result of a tool
	schema   map[string]any
}

// toolSpec is a tool that the agent offers to the model.
type toolSpec struct {
	name   string
	schema map[string]any
}

// answer is the model's response: a call of a tool if callName is set, otherwise the text.
type answer struct {
	text     string
	callName string
	callArgs map[string]any
}

// protocol reads requests and writes responses in the format of one vendor.
type protocol struct {
	name    string
	path    *regexp.Regexp
	read    func(path string, body map[string]any) question
	write   func(out stream, q question, a answer)
	failure func(status int) any
}

var protocols = []protocol{chatProtocol, responsesProtocol, messagesProtocol, geminiProtocol}

func newGateway(tb testing.TB) *gateway {
	tb.Helper()
	g := &gateway{news: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	tb.Cleanup(func() {
		g.CloseClientConnections() // otherwise Close waits for requests that are delayed
		g.Close()
	})
	return g
}

func (g *gateway) serve(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, p := range protocols {
		if r.Method == http.MethodPost && p.path.MatchString(r.URL.Path) {
			g.turn(w, r, p, body)
			return
		}
	}
	out := stream{w: w}
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case strings.HasSuffix(path, "/models"):
		out.json(http.StatusOK, modelList())
	case strings.HasSuffix(path, "/count_tokens"):
		out.json(http.StatusOK, object{"input_tokens": 10})
	case strings.HasSuffix(path, ":countTokens"):
		out.json(http.StatusOK, object{"totalTokens": 10})
	default:
		g.mu.Lock()
		g.other = append(g.other, r.Method+" "+r.URL.Path)
		g.mu.Unlock()
		out.json(http.StatusNotFound, object{"error": object{"type": "not_found_error", "message": "the gateway has no " + r.URL.Path}})
	}
}

func readBody(r *http.Request) (map[string]any, error) {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		in = unzipped
	}
	text, err := io.ReadAll(in)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	var body map[string]any
	return body, json.Unmarshal(text, &body)
}

func (g *gateway) turn(w http.ResponseWriter, r *http.Request, p protocol, body map[string]any) {
	q := p.read(r.URL.Path, body)
	q.protocol, q.key = p.name, credential(r)
	g.keep(q)
	prompt := strings.Join(q.user, "\n")
	out := stream{w: w}
	if delay, err := time.ParseDuration(directive("wait", prompt)); err == nil {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	if status, err := strconv.Atoi(directive("fail", prompt)); err == nil {
		out.json(status, p.failure(status))
		return
	}
	p.write(out, q, reply(q, prompt))
}

// reply returns the model's response. If the request has a schema (tools request titles and the like
// so), the response is the smallest value that matches it.
func reply(q question, prompt string) answer {
	if q.schema != nil {
		text, err := json.Marshal(smallestValue(q.schema))
		if err != nil {
			panic(err) // it was made from JSON
		}
		return answer{text: string(text)}
	}
	command := directive("run", prompt)
	shell := slices.IndexFunc(q.tools, isShell)
	if command == "" || q.answered || shell < 0 {
		return answer{text: "The gateway has nothing to add."}
	}
	return answer{callName: q.tools[shell].name, callArgs: shellCall(q.tools[shell].schema, command, prompt)}
}

// directive returns the argument of the last {{name: argument}} in a text; empty if there is none.
func directive(name, text string) string {
	found := regexp.MustCompile(`(?s)\{\{`+name+`: (.+?)\}\}`).FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1][1]
}

func credential(r *http.Request) string {
	for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(header); key != "" {
			return key
		}
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (g *gateway) keep(q question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, q)
	close(g.news)
	g.news = make(chan struct{})
}

// questions returns the stored questions for which pass returns true.
func (g *gateway) questions(pass func(question) bool) []question {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.asked), func(q question) bool { return !pass(q) })
}

// await waits until there is a question for which pass returns true.
func (g *gateway) await(limit time.Duration, pass func(question) bool) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		g.mu.Lock()
		news := g.news
		g.mu.Unlock()
		if len(g.questions(pass)) > 0 {
			return nil
		}
		select {
		case <-news:
		case <-timeout.C:
			g.mu.Lock()
			defer g.mu.Unlock()
			return fmt.Errorf("the expected request did not arrive within %v; the gateway got %d other questions, and requests to unknown paths: %q", limit, len(g.asked), g.other)
		}
	}
}

// userTextContains returns a filter for questions whose user texts contain a text.
func userTextContains(text string) func(question) bool {
	return func(q question) bool {
		return slices.ContainsFunc(q.user, func(part string) bool { return strings.Contains(part, text) })
	}
}
