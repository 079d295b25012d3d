package server

import (
	"net/http"
	"strings"

	"svc/api"
)

// The paths of the requests with which a worker connects.
const (
	RegisterPath = internalRoot + "/worker/register"
	UplinkPath   = internalRoot + "/worker/uplink"
)

// Refuse sends an error response in the form that Server uses. It is for an orchestrator that does not lead, and so
// has no Server for the request.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	x := &exchange{ResponseWriter: w, id: requestID(r)}
	r = r.WithContext(withExchange(r.Context(), x))
	secure(w.Header(), r)
	w.Header().Set(api.HeaderRequestID, x.id)
	writeError(x, r, err)
}

// AcceptedRequest records that a request was accepted, if its path requires a token.
func AcceptedRequest(r *http.Request) {
	if scopeOf(r.Method, r.URL.Path) != scopeOpen {
		Accepted(r.Context())
	}
}

// Repeatable reports whether a request comes from a worker or a hook. Such a request can be repeated, because each
// report is applied only once.
func Repeatable(r *http.Request) bool { return under(r.URL.Path, internalRoot) }

// OfRecords reports whether any orchestrator on the database can handle a request. That is so when the request only
// concerns records of the database: no part of the response is in the leader's memory only, and nothing except the
// write must happen at once.
func OfRecords(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, api.Prefix)
	if !ok {
		return false
	}
	return under(path, "/projects") || under(path, "/work-items") || path == "/runs" && r.Method == http.MethodPost || path == "/events" && r.Method == http.MethodGet
}

// OfRecordsMostly reports whether a request can be answered from the database while the leader cannot be reached. The
// response may then lack data that is in the leader's memory only.
func OfRecordsMostly(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, api.Prefix+"/")
	if !ok || r.Method != http.MethodGet {
		return false
	}
	switch first, rest, _ := strings.Cut(path, "/"); first {
	case "events":
		return rest == "stream"
	case "runs":
		return !strings.Contains(rest, "/") // one run or a list of runs
	case "me":
		return true
	}
	return false
}
