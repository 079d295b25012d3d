package provider

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places has the positions of the keys and values in a document, which the decoded form does not have.
type places struct {
	parser unstable.Parser
	keys   map[string]int    // the line on which a key is first named
	values map[string]source // the values of the keys that have one
}

// source is a value as it is written in the file.
type source struct {
	line int
	text []byte
}

// locate scans a document, which must be valid TOML.
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

// key records every part of a dotted key and returns the whole key.
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

// lineOf returns the line of the file that contains line i (from 0) of a decoded string. If the string was
// written with escapes or line continuations, it returns the line of the key.
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

// under joins a key path with a reliable separator: in TOML, only an escaped key can contain it, and ids that
// contain it are rejected.
func under(path, part string) string {
	if path == "" {
		return part
	}
	return path + "\x00" + part
}

// written returns a key path in TOML syntax.
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
