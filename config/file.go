package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFileBytes bounds what is parsed; a real config file has a few kilobytes.
const maxFileBytes = 64 << 10

// given is the value of one setting in a file.
type given struct {
	raw  any // as the TOML decoder returns it
	line int
}

// readFile reads a config file whole.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes, so it is not a config file", path, maxFileBytes)
	}
	return data, nil
}

// parseFile finds the known settings in a TOML document and returns a problem for everything else.
//
// The document is decoded into plain maps and compared with the tags of Config, not decoded into a Config: the
// decoder would stop at the first wrong type, accept PORT for port, and lose the line of a value that is out of
// range.
func parseFile(path string, data []byte) (map[string]given, []Notify, Problems) {
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, nil, Problems{syntaxProblem(path, err)}
	}
	p := &fileParser{path: path, lines: keyLines(data), found: map[string]given{}}
	sinks := p.sinks(doc, sinkLines(data))
	delete(doc, "notify")
	p.top(doc)
	return p.found, sinks, p.problems
}

// syntaxProblem returns the decoder's message and position, without its excerpt of the document, which may
// contain a secret.
func syntaxProblem(path string, err error) Problem {
	p := Problem{Origin: Origin{Place: FromFile, Name: path}, Complaint: "is not TOML"}
	var de *toml.DecodeError
	if !errors.As(err, &de) {
		return p
	}
	p.Origin.Line, _ = de.Position()
	p.Setting = keyName(de.Key()...)
	p.Complaint = "not TOML: " + strings.TrimPrefix(de.Error(), "toml: ")
	return p
}

type fileParser struct {
	path     string
	lines    map[string]int
	found    map[string]given
	problems Problems
}

func (p *fileParser) top(doc map[string]any) {
	all := sections()
	var names []string
	for _, s := range all[1:] {
		names = append(names, "["+s.name+"]")
		p.section(s, doc)
	}
	for key, v := range doc {
		_, isTable := v.(map[string]any)
		switch {
		case slices.ContainsFunc(all[1:], func(s section) bool { return s.name == key }):
		case p.take(all[0], key, v):
		case isTable:
			p.complain("unknown section; there are "+strings.Join(names, ", "), key)
		default:
			p.complain("unknown key; outside the sections there is only "+all[0].keys(), key)
		}
	}
}

func (p *fileParser) section(s section, doc map[string]any) {
	v, ok := doc[s.name]
	if !ok {
		return
	}
	table, ok := v.(map[string]any)
	if !ok {
		p.complain("must be a section, written ["+s.name+"]", s.name)
		return
	}
	for key, v := range table {
		if !p.take(s, key, v) {
			p.complain("unknown key; ["+s.name+"] has "+s.keys(), s.name, key)
		}
	}
}

// take records the value and returns true, if the section has this key.
func (p *fileParser) take(s section, key string, v any) bool {
	for _, set := range s.settings {
		if set.key != key {
			continue
		}
		path := []string{key}
		if s.name != "" {
			path = []string{s.name, key}
		}
		p.found[set.name()] = given{raw: v, line: p.lines[lineKey(path...)]}
		return true
	}
	return false
}

func (p *fileParser) complain(complaint string, key ...string) {
	p.problems = append(p.problems, Problem{
		Setting:   keyName(key...),
		Origin:    Origin{Place: FromFile, Name: p.path, Line: p.lines[lineKey(key...)]},
		Complaint: complaint,
	})
}

// keyDepth is the depth of a setting: section and key. Deeper keys are unknown, and their problem names only
// the first two parts.
const keyDepth = 2

// keyLines returns the line on which each section and key of a valid document appears first.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	parser := unstable.Parser{}
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = note(&parser, lines, nil, e)
		case unstable.KeyValue:
			noteValue(&parser, lines, table, e)
		}
	}
	return lines
}

// note records the lines of the parts of a node's key below prefix, and returns the whole key; both are limited
// to keyDepth.
func note(p *unstable.Parser, lines map[string]int, prefix []string, n *unstable.Node) []string {
	key := slices.Clone(prefix)
	for it := n.Key(); len(key) < keyDepth && it.Next(); {
		key = append(key, string(it.Node().Data))
		if _, ok := lines[lineKey(key...)]; !ok {
			lines[lineKey(key...)] = p.Shape(it.Node().Raw).Start.Line
		}
	}
	return key
}

// noteValue records the lines of a key and, if its value is an inline table, of the keys in it.
func noteValue(p *unstable.Parser, lines map[string]int, prefix []string, n *unstable.Node) {
	key := note(p, lines, prefix, n)
	if len(key) == keyDepth || n.Value().Kind != unstable.InlineTable {
		return
	}
	for it := n.Value().Children(); it.Next(); {
		noteValue(p, lines, key, it.Node())
	}
}

// lineKey joins a key path with a character that does not occur in ordinary TOML keys.
func lineKey(key ...string) string { return strings.Join(key, "\x00") }

// keyName returns a key path in TOML syntax: parts that are not bare are quoted.
func keyName(key ...string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = k
		if k == "" || strings.ContainsFunc(k, notBare) {
			parts[i] = strconv.Quote(k)
		}
	}
	return strings.Join(parts, ".")
}

func notBare(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}
