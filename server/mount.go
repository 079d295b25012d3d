package server

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc/api"
	"svc/asciicast"
)

// liveRoutes registers the routes of Live. Their responses are streams or are not JSON, so huma only describes them.
func (s *Server) liveRoutes() {
	tags := []string{"Runs"}
	id := &huma.Param{Name: "id", In: "path", Required: true, Description: "Id of the run", Schema: &huma.Schema{Type: huma.TypeString}}
	query := func(name, doc string, schema *huma.Schema) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Schema: schema}
	}
	text := &huma.Schema{Type: huma.TypeString}
	number := &huma.Schema{Type: huma.TypeInteger}

	s.route(s.document(huma.Operation{
		OperationID: "get-pane", Method: http.MethodGet, Path: "/runs/{id}/pane", Tags: tags,
		Summary: "Read the latest screen of a run", Parameters: []*huma.Param{id},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemaOf[api.Pane](s)},
		}}},
	}), s.Live.Pane)

	s.route(s.document(huma.Operation{
		OperationID: "get-logs", Method: http.MethodGet, Path: "/runs/{id}/logs", Tags: tags,
		Summary: "Stream the log of a run",
		Parameters: []*huma.Param{
			id,
			query("follow", "Keep streaming until the session ends", &huma.Schema{Type: huma.TypeBoolean}),
			query("tail", "The last lines only", number),
			query("from", "Begin at this position, instead of using tail: an attempt and a byte of its raw log, such as 2:4096", text),
			query("skip", "Skip this many bytes of the response. With from set to the header "+api.HeaderLogFrom+" of the first response, a reader continues where it was cut off", number),
			query("attempt", "One attempt only; absent: all, in order", number),
			query("format", "raw: the bytes that the terminal received; text: without escape sequences", &huma.Schema{Type: huma.TypeString, Enum: []any{"raw", "text"}}),
		},
		Responses: map[string]*huma.Response{"200": {Description: "The log", Content: map[string]*huma.MediaType{
			"text/plain; charset=utf-8": {Schema: text},
		}}},
	}), s.longLivedRoute(s.Live.Logs))

	s.route(s.document(huma.Operation{
		OperationID: "get-recording", Method: http.MethodGet, Path: "/runs/{id}/recording", Tags: tags,
		Summary: "Replay an attempt of a run",
		Description: "The recording of its terminal as asciicast v2: output (o), size changes (r) and the run's events (m). " +
			"For an active attempt, the recording so far. Without the times of its log there is no recording: 404 no_recording.",
		Parameters: []*huma.Param{id, query("attempt", "Absent: the last one", number)},
		Responses: map[string]*huma.Response{"200": {Description: "The recording", Content: map[string]*huma.MediaType{
			asciicast.MediaType: {Schema: text},
		}}},
	}), s.longLivedRoute(s.Live.Recording))

	socket := func(name, path, summary, doc string, handler http.HandlerFunc, more ...*huma.Param) {
		s.route(s.document(huma.Operation{
			OperationID: name, Method: http.MethodGet, Path: path, Tags: tags, Summary: summary, Description: doc,
			Parameters: append([]*huma.Param{id, query("token", "The user token, for browsers", text)}, more...),
			Responses:  map[string]*huma.Response{"101": {Description: "The socket is open"}},
			Security:   []map[string][]string{{"token": {}}, {"session": {}}, {"query_token": {}}},
		}), s.longLivedRoute(s.guardOrigin(handler)))
	}
	socket("watch-pane", "/runs/{id}/pane/ws", "Watch the screen of a run (WebSocket)",
		"Frames `pane_snapshot` with seq, run_id, capture and timestamp: the whole screen, on every change.", s.Live.PaneWS)
	socket("attach", "/runs/{id}/attach/ws", "Attach to the session of a run (WebSocket)",
		"Down: lease_acquired, error, data, resize; with watchers=true also watchers. Up: input, resize, release_lease, take_lease. One client holds the lease; the others watch.", s.Live.AttachWS,
		query("watchers", "Send the list of people who see the terminal, when the socket opens and after each change", &huma.Schema{Type: huma.TypeBoolean}))
}
