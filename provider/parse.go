package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Load reads and checks a catalog file. Errors in its content are returned as a Problems.
func Load(path string) (*Catalog, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse checks the text of a catalog; file is its name in messages. It is strict: unknown keys, wrong types and
// unknown placeholders are all returned together in a Problems.
func Parse(file string, data []byte) (*Catalog, error) {
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, Problems{syntaxProblem(file, err)}
	}
	p := &parser{file: file, places: locate(data)}
	sum := sha256.Sum256(data)
	c := &Catalog{path: file, entries: map[string]Entry{}, hash: hex.EncodeToString(sum[:])}
	for key, v := range doc {
		if key != "providers" {
			p.complain(key, "unknown key; a catalog has only tables [providers.<id>]")
			continue
		}
		p.providers(c, v)
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
		})
		return nil, p.problems
	}
	slices.SortFunc(c.ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(p.keys[under("providers", a)], p.keys[under("providers", b)]), cmp.Compare(a, b))
	})
	return c, nil
}

// syntaxProblem returns the decoder's message and line, without its excerpt of the document, which may contain
// a secret.
func syntaxProblem(file string, err error) Problem {
	p := Problem{File: file, Complaint: "is not TOML"}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		p.Line, _ = at.Position()
		p.Complaint = "not TOML: " + strings.TrimPrefix(at.Error(), "toml: ")
		if len(at.Key()) > 0 {
			p.Key = written(strings.Join(at.Key(), "\x00"))
		}
	}
	return p
}

// parser converts decoded tables to entries and collects the problems.
type parser struct {
	*places
	file     string
	problems Problems
}

func (p *parser) complain(path, format string, args ...any) {
	p.complainAt(p.keys[path], path, format, args...)
}

func (p *parser) complainAt(line int, path, format string, args ...any) {
	p.problems = append(p.problems, Problem{File: p.file, Line: line, Key: written(path), Complaint: fmt.Sprintf(format, args...)})
}

var idForm = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

func (p *parser) providers(c *Catalog, v any) {
	tables, ok := v.(map[string]any)
	if !ok {
		p.complain("providers", "must hold tables, written [providers.<id>]")
		return
	}
	for id, v := range tables {
		path := under("providers", id)
		values, ok := v.(map[string]any)
		switch {
		case !ok:
			p.complain(path, "must be a table, written [providers.%s]", id)
		case !idForm.MatchString(id):
			p.complain(path, "an id has 1 to 64 characters of a-z, 0-9, _ and -")
		default:
			c.ids = append(c.ids, id)
			c.entries[id] = p.entry(id, table{p, path, values})
		}
	}
}
