// Package api is the public API for Go programs: the bodies of its requests, the shapes of its responses that are not
// types of package svc, and the [Client] that the command line uses.
//
// Requests have types of their own, because they contain only what a caller may set: a read-only field in a request
// is an unknown field and is refused by name. Responses are the types of package svc.
package api

import "svc"

// Prefix is the path prefix of the public API. A breaking change gets another prefix.
const Prefix = "/api/v1"

// MaxBody is the maximum size of a request body in bytes.
const MaxBody = 1 << 20

// MaxIdempotencyKey is the maximum length of an Idempotency-Key in characters.
const MaxIdempotencyKey = 255

// Names of the headers that the API defines, or uses in its own way.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderLastEventID    = "Last-Event-ID"
	HeaderRequestID      = "X-Request-Id"
	HeaderRequest        = "Svc-Request" // sent with the session cookie: marks a request of our own page
)

// ErrorBody is the content of every refusal.
type ErrorBody struct {
	Code    svc.Code       `json:"code" example:"not_found" doc:"For programs; see docs/api.md for the list"`
	Message string         `json:"message" example:"no run \"CHECKOUT-12\"" doc:"For people"`
	Details map[string]any `json:"details,omitempty" doc:"For programs; fields names each field that is wrong"`
}

// Envelope is the body of every response that is not a success.
type Envelope struct {
	Error ErrorBody `json:"error"`
}

// Pane is the latest screen of a run.
type Pane struct {
	Seq       int64    `json:"seq" doc:"Grows with every change of this run's screen"`
	RunID     string   `json:"run_id"`
	Capture   string   `json:"capture" doc:"The terminal's content"`
	Timestamp svc.Time `json:"timestamp" doc:"When the worker captured it"`
	Attempt   int      `json:"attempt" doc:"The attempt whose screen it is; 0: not known"`
	Final     bool     `json:"final" doc:"It is the screen at the end of that attempt's session. False for an attempt that is over: the final screen is not known, and this is the last known one"`
}

// Token is the response of POST /hosts/{id}/token.
type Token struct {
	Token string `json:"token" doc:"Lets a worker join as this host and as no other"`
}

// ProviderFacts is a provider's entry in the orchestrator's catalog, without its argument and environment templates:
// those may contain secrets.
type ProviderFacts struct {
	ID                string   `json:"id"`
	Name              string   `json:"name"`
	Bin               string   `json:"bin" doc:"Executable, resolved on the worker's PATH; empty when only a worker's catalog has the provider"`
	TUIType           string   `json:"tui_type" enum:"line_oriented,full_screen,raw_mode," doc:"line_oriented, full_screen or raw_mode; empty as for bin"`
	CompletionSignals []string `json:"completion_signals" nullable:"false"`
	Optional          bool     `json:"optional" doc:"Its absence on a host is not a problem"`
	Conversation      string   `json:"conversation" enum:"none,minted,hook" doc:"Where the id of its conversation comes from: svc generates it, or the tool reports it"`
	Resumes           bool     `json:"resumes" doc:"It can resume a conversation"`
}

// ProviderOnHost is the last report of one host's worker about a provider.
type ProviderOnHost struct {
	HostName  string `json:"host_name"`
	Available bool   `json:"available"`
	Version   string `json:"version,omitempty"`
	Reason    string `json:"reason,omitempty" doc:"Why it is not available"`
	Resumes   bool   `json:"resumes" doc:"It can resume a conversation on that host; also false for a worker that is too old to report it"`

	ReportedAt *svc.Time `json:"reported_at" doc:"When the worker last checked"`
}

// Provider is a provider together with the hosts that reported it.
type Provider struct {
	ProviderFacts
	Tool        string                    `json:"tool" doc:"The tool's id, which the headless and the interactive entry of one tool share"`
	Interactive bool                      `json:"interactive" doc:"Whether this is the interactive one of a tool that has both"`
	Default     bool                      `json:"default" doc:"Whether [runs] provider names it"`
	InCatalog   bool                      `json:"in_catalog" doc:"False when only a worker's own catalog has it"`
	Hosts       map[string]ProviderOnHost `json:"hosts" nullable:"false" doc:"By host id; without the hosts that never reported it"`
}
