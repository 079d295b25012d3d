package provider

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places knows where in a document each key and each value stands, which the decoded form has lost.
type places struct {
	parser unstable.Parser
	keys   map[string]int    // the line on which a key is first named
	values map[string]source // of the keys that have a value of their own
}

// source is a value as it is written in the file.
type source struct {
	line int
	text []byte
}

// locate reads a document that is known to be valid TOML.
func locate(data []byte) *places {
	p := &places{keys: map[string]int{}, values: map[string]source{}}
	p.parser.Reset(data)
	table := ""
	for p.parser.NextExpression() {
		switch n := p.parser.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = p.key("", n)
		case unstable.KeyValue:
			p.value(table, n)
		}
	}
	return p
}

// key notes every part of a dotted key and answers with the whole of it.
func (p *places) key(path string, n *unstable.Node) string {
	for parts := n.Key(); parts.Next(); {
		part := parts.Node()
		path = under(path, string(part.Data))
		if _, seen := p.keys[path]; !seen {
			p.keys[path] = p.parser.Shape(part.Raw).Start.Line
		}
	}
	return path
}

func (p *places) value(table string, n *unstable.Node) {
	path, v := p.key(table, n), n.Value()
	p.values[path] = source{line: p.parser.Shape(v.Raw).Start.Line, text: p.parser.Raw(v.Raw)}
	if v.Kind == unstable.InlineTable {
		for pairs := v.Children(); pairs.Next(); {
			p.value(path, pairs.Node())
		}
	}
}

// lineOf is the line of the file on which line i (from 0) of a decoded string stands. A string that
// was written with escapes or line continuations has no such lines; the key's own must do.
func (p *places) lineOf(path, decoded string, i int) int {
	v := p.values[path]
	multi := len(v.text) >= 6 && (bytes.HasPrefix(v.text, []byte(`"""`)) || bytes.HasPrefix(v.text, []byte(`'''`)))
	if !multi {
		return p.keys[path]
	}
	body, first := bytes.TrimPrefix(v.text[3:len(v.text)-3], []byte("\r")), v.line
	if bytes.HasPrefix(body, []byte("\n")) {
		body, first = body[1:], first+1
	}
	if bytes.Count(body, []byte("\n")) != strings.Count(decoded, "\n") {
		return p.keys[path]
	}
	return first + i
}

// under joins a key path with a character that separates its parts for certain: TOML allows it
// in no key but an escaped one, and ids with it are refused.
func under(path, part string) string {
	if path == "" {
		return part
	}
	return path + "\x00" + part
}

// written is a key path the way TOML writes it.
func written(path string) string {
	parts := strings.Split(path, "\x00")
	for i, part := range parts {
		if part == "" || strings.Trim(part, bareKey) != "" {
			parts[i] = strconv.Quote(part)
		}
	}
	return strings.Join(parts, ".")
}

const bareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
