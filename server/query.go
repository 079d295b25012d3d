package server

import (
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// checkQuery checks what the schema validation does not check: it refuses unknown parameters, empty values, and
// repeated values of a single-valued parameter.
func checkQuery(op *huma.Operation, u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return svc.Invalid("query", "is malformed")
	}
	var bad svc.Problems
	for name, values := range query {
		p := parameter(op, name)
		switch {
		case p == nil:
			bad.Add(name, "is not a parameter of this request")
		case len(values) > 1 && p.Schema.Type != huma.TypeArray:
			bad.Add(name, "is given more than once")
		case name == "cursor": // empty means the beginning
		default:
			for _, v := range values {
				if v == "" {
					bad.Add(name, "must not be empty")
				}
			}
		}
	}
	return bad.Err()
}

func parameter(op *huma.Operation, name string) *huma.Param {
	for _, p := range op.Parameters {
		if p.In == "query" && p.Name == name {
			return p
		}
	}
	return nil
}

// checkIDs checks the form of ids. Its arguments are pairs of a parameter's name and its value; an empty value is
// allowed.
func checkIDs(named ...string) error {
	var bad svc.Problems
	for i := 0; i < len(named); i += 2 {
		if v := named[i+1]; v != "" && !svc.IsID(v) {
			bad.Add(named[i], "is not an id")
		}
	}
	return bad.Err()
}

// Paging holds the parameters that all list requests share. It is exported, like the other parts of requests, because
// huma ignores unexported fields.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Records per page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before; absent: the first page"`
}

func (p Paging) page() svc.Page {
	return svc.Page{Limit: p.Limit, Cursor: p.Cursor, Bytes: svc.MaxPageBytes}
}

// manyOf converts the values of a repeatable parameter.
func manyOf[T ~string](values []string) []T {
	var out []T
	for _, v := range values {
		out = append(out, T(v))
	}
	return out
}
