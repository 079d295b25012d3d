package server

import (
	"bytes"
	_ "embed" // the template
	"html/template"
	"sort"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// referencePolicy allows the reference only its own inline style: the page has no script and loads nothing.
const referencePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed reference.html
var referenceHTML string

var referenceTemplate = template.Must(template.New("reference").Parse(referenceHTML))

// refGroup, refOperation, refAnswer, refField and refSchema are the data of the template.
type (
	refGroup struct {
		Name       string
		Operations []refOperation
	}
	refOperation struct {
		ID, Method, Path, Summary, Description string
		Deprecated                             bool
		Parameters                             []refField
		Body                                   string // name of a schema; empty: none
		Answers                                []refAnswer
	}
	refAnswer struct{ Status, Description, Type string }
	refField  struct {
		Name, In, Type, Description string
		Required                    bool
	}
	refSchema struct {
		Name   string
		Fields []refField
	}
)

// renderReference renders the API description as an HTML page.
func renderReference(doc *huma.OpenAPI) []byte {
	var b bytes.Buffer
	err := referenceTemplate.Execute(&b, map[string]any{
		"Info": doc.Info, "Base": doc.Servers[0].URL, "Groups": refGroups(doc), "Schemas": refSchemas(doc),
	})
	if err != nil {
		panic("server: the reference does not render: " + err.Error()) // a bug in the template
	}
	return b.Bytes()
}

func refGroups(doc *huma.OpenAPI) []refGroup {
	byTag := map[string]*refGroup{}
	var order []string
	paths := make([]string, 0, len(doc.Paths))
	for p := range doc.Paths {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		item := doc.Paths[p]
		for _, op := range operations(item) {
			tag := op.Tags[0]
			if byTag[tag] == nil {
				byTag[tag] = &refGroup{Name: tag}
				order = append(order, tag)
			}
			byTag[tag].Operations = append(byTag[tag].Operations, refOperationOf(op))
		}
	}
	out := make([]refGroup, len(order))
	for i, tag := range order {
		out[i] = *byTag[tag]
	}
	return out
}

func refOperationOf(op *huma.Operation) refOperation {
	out := refOperation{
		ID: op.OperationID, Method: op.Method, Path: op.Path,
		Summary: op.Summary, Description: op.Description, Deprecated: op.Deprecated,
	}
	for _, p := range op.Parameters {
		out.Parameters = append(out.Parameters, refField{p.Name, p.In, typeName(p.Schema), p.Description, p.Required})
	}
	if op.RequestBody != nil {
		out.Body = typeName(op.RequestBody.Content["application/json"].Schema)
	}
	for status, r := range op.Responses {
		a := refAnswer{Status: status, Description: r.Description}
		for media, content := range r.Content {
			a.Type = typeName(content.Schema)
			if media != "application/json" {
				a.Type = media
			}
		}
		out.Answers = append(out.Answers, a)
	}
	sort.Slice(out.Answers, func(i, j int) bool { return out.Answers[i].Status < out.Answers[j].Status })
	return out
}

func refSchemas(doc *huma.OpenAPI) []refSchema {
	var out []refSchema
	for name, s := range doc.Components.Schemas.Map() {
		schema := refSchema{Name: name}
		required := map[string]bool{}
		for _, r := range s.Required {
			required[r] = true
		}
		for field, p := range s.Properties {
			schema.Fields = append(schema.Fields, refField{Name: field, Type: typeName(p), Description: p.Description, Required: required[field]})
		}
		sort.Slice(schema.Fields, func(i, j int) bool { return schema.Fields[i].Name < schema.Fields[j].Name })
		out = append(out, schema)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// typeName describes a schema in a few words.
func typeName(s *huma.Schema) string {
	if s == nil {
		return ""
	}
	name := s.Type
	switch {
	case len(s.AnyOf) > 0:
		var names []string
		for _, one := range s.AnyOf {
			names = append(names, typeName(one))
		}
		name = strings.Join(names, " or ")
	case s.Ref != "":
		name = s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case s.Type == huma.TypeArray:
		name = "list of " + typeName(s.Items)
	case s.Type == "":
		name = "any"
	case s.Format == "date-time":
		name = "time"
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				values = append(values, text)
			}
		}
		name = strings.Join(values, " | ")
	}
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		name = "map to " + typeName(values)
	}
	if s.Nullable {
		name += " or null"
	}
	return name
}
