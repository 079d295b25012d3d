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

// gateway stands in for a model gateway and speaks the four protocols that agent tools use. What a
// person writes into a prompt decides what it answers:
//
//	{{run: COMMAND}}   ask for one call of the tool's shell, then say goodbye
//	{{fail: STATUS}}   an API error with this HTTP status
//	{{wait: DURATION}} the answer comes after this time, or never when the tool goes away first
//
// and anything else gets a short text. It keeps every question.
type gateway struct {
	*httptest.Server
	mu    sync.Mutex // guards the rest
	asked []question
	other []string      // requests it has no answer to, for a look when a tool changes
	news  chan struct{} // closed and replaced with each question
}

// question is a request for one turn of a conversation, whatever its protocol.
type question struct {
	protocol string
	model    string
	key      string // the credential the tool sent
	stream   bool
	user     []string // the texts of the user's side, in their order
	tools    []toolSpec
	answered bool // the conversation has a tool's result
	schema   map[string]any
}

// toolSpec is a tool that the agent offers to the model.
type toolSpec struct {
	name   string
	schema map[string]any
}

// answer is what the model says: a call of a tool when callName is set, else the text.
type answer struct {
	text     string
	callName string
	callArgs map[string]any
}

// protocol reads questions and writes answers the way one vendor does.
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
		g.CloseClientConnections() // a tool that still waits is not waited for
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

// reply decides what the model says. A question that wants a structure (tools ask for titles and the
// like) gets the smallest one that fits.
func reply(q question, prompt string) answer {
	if q.schema != nil {
		text, err := json.Marshal(smallest(q.schema))
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

// directive is the argument of the last {{name: argument}} in a text; empty when there is none.
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

// questions is everything that was asked so far and passes.
func (g *gateway) questions(pass func(question) bool) []question {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.asked), func(q question) bool { return !pass(q) })
}

// await waits for a question that passes.
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
			return fmt.Errorf("the gateway was not asked within %v; %d other questions came, and %q", limit, len(g.asked), g.other)
		}
	}
}

// holding passes questions in which the user's side has a text.
func holding(text string) func(question) bool {
	return func(q question) bool {
		return slices.ContainsFunc(q.user, func(part string) bool { return strings.Contains(part, text) })
	}
}
