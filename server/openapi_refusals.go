package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// describeRefusals gives every operation its error answers, by status, with the
// codes of the table that makes them.
func describeRefusals(doc *huma.OpenAPI) {
	for path, item := range doc.Paths {
		for _, op := range operations(item) {
			delete(op.Responses, "default")
			for _, status := range refusalsOf(path, op) {
				op.Responses[strconv.Itoa(status)] = &huma.Response{
					Description: strings.Join(codesOf(status), ", "),
					Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorAnswer"}}},
				}
			}
		}
	}
}

// refusalsOf lists the statuses with which an operation may be refused.
func refusalsOf(path string, op *huma.Operation) []int {
	out := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable}
	reads := op.Method == http.MethodGet
	if strings.Contains(path, "{") || !reads { // a body may name a record too
		out = append(out, http.StatusNotFound)
	}
	if !reads || strings.HasSuffix(path, "/ws") {
		out = append(out, http.StatusConflict)
	}
	if slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == "If-Match" }) {
		out = append(out, http.StatusPreconditionFailed)
	}
	if op.Method == http.MethodPost || op.Method == http.MethodPatch {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return out
}

// codesOf lists the codes that are answered with a status; 0: every code.
func codesOf(status int) []string {
	var codes []string
	for code, of := range statuses {
		if status == 0 || of == status {
			codes = append(codes, string(code))
		}
	}
	slices.Sort(codes)
	return codes
}

// uuidFields are the fields of answers that hold a UUID, or a list of them.
// Requests are left as they are: the record's own rules judge ids there, and
// some of them take a short name as well.
var uuidFields = []string{
	"id", "project_id", "task_id", "parent_id", "run_id", "host_id", "pinned_host_id", "workspace_id", "instance_id", "suspect_instance_id",
	"needs", "stopped", "skipped",
}

// describeValues adds what a field of an answer may hold and its Go type does
// not say.
func describeValues(schema, field string, p *huma.Schema) {
	switch {
	case schema == "Provider" && field == "id": // chosen by whoever wrote the catalog
	case slices.Contains(uuidFields, field) && p.Type == huma.TypeString:
		p.Format = "uuid"
	case slices.Contains(uuidFields, field) && p.Type == huma.TypeArray:
		p.Items.Format = "uuid"
	case schema == "ErrorBody" && field == "code":
		p.Enum = asAny(codesOf(0))
	case schema == "Event" && field == "topic", schema == "EventMessage" && field == "event":
		p.Enum = asAny(svc.Topics)
	}
}

func asAny[T ~string](words []T) []any {
	out := make([]any, len(words))
	for i, word := range words {
		out[i] = string(word)
	}
	return out
}
