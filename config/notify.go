package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"svc"
)

// Notify is one [[notify]]: a destination for entries of the inbox.
type Notify struct {
	Name     string        `toml:"name" shown:"none; it is required" doc:"Unique. Commands, logs and svc doctor name the sink by it."`
	Kind     string        `toml:"kind" shown:"none; it is required" doc:"webhook: a JSON object; ntfy: a message to a topic of ntfy; slack: an incoming webhook of Slack or of a compatible service."`
	URL      string        `toml:"url" kind:"secret" shown:"none; it is required" doc:"Where it is sent, http or https. Addresses of a private network are allowed. Redirects are not followed."`
	Secret   Secret        `toml:"secret" kind:"secret" shown:"none" doc:"webhook: key of the HMAC-SHA256 of the body, in Svc-Signature. ntfy: an access token. slack has none: its url is the secret."`
	On       []string      `toml:"on" shown:"all kinds" doc:"Kinds of entries: needs_input, failed, review, unconfirmed, land_failed, host."`
	Dwell    time.Duration `toml:"dwell" default:"15s" doc:"An entry is sent only if it still exists after this time. needs_input is sent at once."`
	Projects []string      `toml:"projects" shown:"all projects" doc:"Slugs of projects. Entries of hosts are sent in any case."`
}

// notifySection returns the section for one [[notify]], for the reference.
func notifySection() section {
	s := section{name: "notify", doc: "Destinations for notifications about the inbox: one `[[notify]]` for each, any number of them."}
	for f := range reflect.TypeFor[Notify]().Fields() {
		s.settings = append(s.settings, newSetting("notify", f, f.Index))
	}
	return s
}

// sinks decodes every [[notify]] of a document.
func (p *fileParser) sinks(doc map[string]any, lines []map[string]int) []Notify {
	v, ok := doc["notify"]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		p.complain("must be a list of sections, each written [[notify]]", "notify")
		return nil
	}
	var out []Notify
	for i, v := range list {
		table, ok := v.(map[string]any)
		if !ok {
			p.complain("must be a list of sections, each written [[notify]]", "notify")
			return nil
		}
		if i >= len(lines) { // the tables are written inline
			lines = append(lines, map[string]int{"": p.lines[lineKey("notify")]})
		}
		out = append(out, p.sink(i, table, lines[i]))
	}
	for i, n := range out {
		if n.Name != "" && slices.ContainsFunc(out[:i], func(o Notify) bool { return o.Name == n.Name }) {
			p.problems = append(p.problems, p.sinkProblem(i, "name", display(n.Name), "is the name of another sink", lines[i]))
		}
	}
	return out
}

func (p *fileParser) sink(i int, table map[string]any, lines map[string]int) Notify {
	n := Notify{Dwell: svc.DefaultDwell}
	known := notifySection()
	for key, raw := range table {
		at := slices.IndexFunc(known.settings, func(s setting) bool { return s.key == key })
		if at < 0 {
			p.problems = append(p.problems, p.sinkProblem(i, key, "", "unknown key; [[notify]] has "+known.keys(), lines))
			continue
		}
		s := known.settings[at]
		value, err := decodeValue(s, raw)
		if err == nil {
			reflect.ValueOf(&n).Elem().FieldByIndex(s.index).Set(reflect.ValueOf(value).Convert(s.typ))
			err = n.check(key)
		}
		if err != nil {
			p.problems = append(p.problems, p.sinkProblem(i, key, shownValue(s, raw), err.Error(), lines))
		}
	}
	for _, key := range []string{"name", "kind", "url"} {
		if _, given := table[key]; !given {
			p.problems = append(p.problems, p.sinkProblem(i, key, "", "is missing", lines))
		}
	}
	return n
}

func (p *fileParser) sinkProblem(i int, key, value, complaint string, lines map[string]int) Problem {
	line := lines[key]
	if line == 0 {
		line = lines[""]
	}
	return Problem{Setting: fmt.Sprintf("notify[%d].%s", i+1, keyName(key)), Value: value, Origin: Origin{Place: FromFile, Name: p.path, Line: line}, Complaint: complaint}
}

const maxSinkName = 64

func (n *Notify) check(key string) error {
	switch key {
	case "name":
		if n.Name == "" || len(n.Name) > maxSinkName || strings.ContainsFunc(n.Name, notBare) {
			return fmt.Errorf("is not a name of 1 to %d letters, digits, - and _", maxSinkName)
		}
	case "kind":
		return oneOf(n.Kind, string(svc.SinkWebhook), string(svc.SinkNtfy), string(svc.SinkSlack))
	case "url":
		if u, err := url.Parse(n.URL); err != nil || !isWeb(u) {
			return errors.New("is not an http or https URL")
		}
	case "secret":
		return checkOneLine(string(n.Secret))
	case "on":
		for _, kind := range n.On {
			if !slices.Contains(svc.InboxKinds, svc.InboxKind(kind)) {
				return fmt.Errorf("has %s, which is not one of %s", display(kind), joinKinds())
			}
		}
	}
	return nil
}

func joinKinds() string {
	words := make([]string, len(svc.InboxKinds))
	for i, k := range svc.InboxKinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// sinkLines returns, for each [[notify]] of a valid document, its own line (under the empty key) and the lines
// of its keys.
func sinkLines(data []byte) (all []map[string]int) {
	parser := unstable.Parser{}
	parser.Reset(data)
	inside := false
	for parser.NextExpression() {
		e := parser.Expression()
		it := e.Key()
		if !it.Next() {
			continue
		}
		key, line := string(it.Node().Data), parser.Shape(it.Node().Raw).Start.Line
		switch e.Kind {
		case unstable.ArrayTable:
			if inside = key == "notify"; inside {
				all = append(all, map[string]int{"": line})
			}
		case unstable.Table:
			inside = false
		case unstable.KeyValue:
			if inside {
				all[len(all)-1][key] = line
			}
		}
	}
	return all
}

// Sink returns the destination in the type that the rest of the program uses.
func (n Notify) Sink() svc.Sink {
	s := svc.Sink{Name: n.Name, Kind: svc.SinkKind(n.Kind), URL: n.URL, Secret: string(n.Secret), Dwell: n.Dwell, Projects: n.Projects}
	for _, kind := range n.On {
		s.On = append(s.On, svc.InboxKind(kind))
	}
	return s
}
