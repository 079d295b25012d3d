package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// describe returns the base of the API description. huma's own document routes are off: those of this package use our
// error envelope and need no other server.
func (s *Server) describe() huma.Config {
	c := huma.DefaultConfig("svc", s.version())
	c.CreateHooks = nil // no $schema links in responses
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: decodeBody}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Info.Description = "Work orchestration: projects, work items and runs of AI command-line tools on many hosts. " +
		"Errors are {\"error\": {code, message, details?}}. Lists are {\"items\": […], \"next_cursor\": … or null}."
	c.Servers = []*huma.Server{{URL: api.Prefix}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":       {Type: "http", Scheme: "bearer", Description: "An access token"},
		"session":     {Type: "apiKey", In: "cookie", Name: s.cookieName(), Description: "A browser that signed in with POST /session; requests other than GET also carry " + api.HeaderRequest + ": 1"},
		"query_token": {Type: "apiKey", In: "query", Name: "token", Description: "An access token, at sockets only: a browser cannot send a header with them"},
	}
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	return c
}

func (s *Server) version() string {
	if s.Version == "" {
		return "unknown"
	}
	return s.Version
}

// document adds an operation that huma does not serve to the API description.
func (s *Server) document(op huma.Operation) *huma.Operation {
	s.api.OpenAPI().AddOperation(&op)
	return &op
}

func schemaOf[T any](s *Server) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// documentRoutes serves the API description. No token is required: a browser cannot send one when it opens a page,
// and the contract is not secret. The documents are built at the first request, because that takes longer than the
// rest of a start, and few servers ever get such a request.
func (s *Server) documentRoutes() {
	complete(s.api.OpenAPI())
	document := sync.OnceValue(func() []byte {
		document, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
		if err != nil {
			panic("server: the API's description does not encode: " + err.Error()) // a bug in a route
		}
		return document
	})
	s.mux.HandleFunc("GET "+api.Prefix+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document())
	})
	page := sync.OnceValue(func() []byte { return renderReference(s.api.OpenAPI()) })
	s.mux.HandleFunc("GET "+api.Prefix+"/docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", referencePolicy)
		_, _ = w.Write(page())
	})
}

// complete adds to the description what huma cannot derive from the types: svc.Time is a date-time, a nullable enum
// has null among its values, a record behind a pointer may be null, and responses, unlike requests, may get more
// fields.
func complete(doc *huma.OpenAPI) {
	describeRoles(doc)
	describeRefusals(doc)
	registry, requests := doc.Components.Schemas, requestSchemas(doc)
	for name, schema := range registry.Map() {
		ref := "#/components/schemas/" + name
		if !requests[ref] {
			schema.AdditionalProperties = nil
		}
		t := registry.TypeFromRef(ref)
		for _, f := range reflect.VisibleFields(t) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := schema.Properties[field]
			if p == nil {
				continue
			}
			if f.Type == reflect.TypeFor[svc.Time]() || f.Type == reflect.TypeFor[*svc.Time]() || f.Type == reflect.TypeFor[api.Opt[svc.Time]]() {
				p.Format = "date-time"
			}
			if f.Type == reflect.TypeFor[json.RawMessage]() {
				p.Type, p.AdditionalProperties = huma.TypeObject, true
			}
			if !requests[ref] {
				describeValues(name, field, p)
			}
			if p.Nullable && len(p.Enum) > 0 {
				p.Enum = append(p.Enum, nil)
			}
			if p.Ref != "" && f.Type.Kind() == reflect.Pointer {
				schema.Properties[field] = &huma.Schema{Description: f.Tag.Get("doc"), AnyOf: []*huma.Schema{p, {Type: "null"}}}
			}
		}
	}
}

// requestSchemas returns the schemas of request bodies.
func requestSchemas(doc *huma.OpenAPI) map[string]bool {
	refs := map[string]bool{}
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			if op.RequestBody != nil {
				refs[op.RequestBody.Content["application/json"].Schema.Ref] = true
			}
		}
	}
	return refs
}
