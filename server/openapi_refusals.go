package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// describeRefusals adds the error responses of every operation, by status, with their codes from the table statuses. The
// operations share them, because they stay in memory.
func describeRefusals(doc *huma.OpenAPI) {
	responses := map[int]*huma.Response{}
	for path, item := range doc.Paths {
		for _, op := range operations(item) {
			delete(op.Responses, "default")
			for _, status := range refusalsOf(path, op) {
				if responses[status] == nil {
					responses[status] = &huma.Response{
						Description: strings.Join(codesOf(status), ", "),
						Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorAnswer"}}},
					}
				}
				op.Responses[strconv.Itoa(status)] = responses[status]
			}
		}
	}
}

// refusalsOf lists the error statuses of an operation.
func refusalsOf(path string, op *huma.Operation) []int {
	out := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable}
	reads := op.Method == http.MethodGet
	if strings.Contains(path, "{") || !reads { // the body may also name a record
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

// codesOf lists the codes with a status; 0: every code.
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

// uuidFields are the fields of responses that contain a UUID or a list of UUIDs. Fields of requests get no format:
// their ids are checked by the handlers, and some of them may also be short names.
var uuidFields = []string{
	"id", "project_id", "task_id", "parent_id", "run_id", "host_id", "pinned_host_id", "workspace_id", "instance_id", "suspect_instance_id",
	"needs", "stopped", "skipped",
}

// describeValues adds to a field of a response the possible values that do not follow from its Go type.
func describeValues(schema, field string, p *huma.Schema) {
	switch {
	case schema == "Provider" && field == "id": // the author of the catalog chooses it
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
