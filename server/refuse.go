package server

import (
	"net/http"
	"strings"

	"svc/api"
)

// UplinkPath is where workers connect.
const UplinkPath = internalRoot + "/worker/uplink"

// Refuse answers a request with an error as a server would, where there is none: an orchestrator that does not lead.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	x := &exchange{ResponseWriter: w, id: requestID(r)}
	r = r.WithContext(withExchange(r.Context(), x))
	secure(w.Header(), r)
	w.Header().Set(api.HeaderRequestID, x.id)
	writeError(x, r, err)
}

// AcceptedRequest notes that a request was accepted, if its path needs a token.
func AcceptedRequest(r *http.Request) {
	if scopeOf(r.Method, r.URL.Path) != scopeOpen {
		Accepted(r.Context())
	}
}

// Repeatable reports whether a request comes from a worker or a hook: what they report is taken once, however often it arrives.
func Repeatable(r *http.Request) bool { return under(r.URL.Path, internalRoot) }

// OfRecords reports whether a request concerns records of the database alone, so that any orchestrator on it can answer: none of its answer is known only to
// the one that leads, and nothing must happen at once beside what is written.
func OfRecords(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, api.Prefix)
	if !ok {
		return false
	}
	return under(path, "/projects") || under(path, "/work-items") || path == "/runs" && r.Method == http.MethodPost || path == "/events" && r.Method == http.MethodGet
}

// OfRecordsMostly reports whether a request can be answered from the database where the orchestrator that leads cannot be reached: its answer may lack what only that one knows.
func OfRecordsMostly(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, api.Prefix+"/")
	if !ok || r.Method != http.MethodGet {
		return false
	}
	switch first, rest, _ := strings.Cut(path, "/"); first {
	case "events":
		return rest == "stream"
	case "runs":
		return !strings.Contains(rest, "/") // one, or a list
	case "me":
		return true
	}
	return false
}
