package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"svc"
)

// Signal is the body of POST /api/internal/runs/{id}/signals and the main part of a signal frame.
type Signal struct {
	Kind      svc.SignalKind   `json:"kind"`
	Attempt   *int             `json:"attempt,omitempty"` // absent: refused as missing_attempt
	Seq       *int64           `json:"seq,omitempty"`     // progress only
	Source    svc.SignalSource `json:"source"`
	Payload   json.RawMessage  `json:"payload"`
	Timestamp svc.Time         `json:"timestamp"`
}

// payload holds the payload fields of all kinds; which of them are allowed depends on the kind.
type payload struct {
	ExitCode   *int        `json:"exit_code,omitempty"`
	Reason     *string     `json:"reason,omitempty"`
	Result     *svc.Result `json:"result,omitempty"`
	Error      *string     `json:"error,omitempty"`
	Message    *string     `json:"message,omitempty"`
	Percent    *int        `json:"percent,omitempty"`
	NeedsInput *bool       `json:"needs_input,omitempty"`
	Submitted  *string     `json:"submitted,omitempty"`
	Idle       *bool       `json:"idle,omitempty"`
	PID        *int        `json:"pid,omitempty"`

	Conversation *string `json:"conversation,omitempty"` // absent: not reported
}

// payloadFields lists the required and the optional payload fields of each kind.
var payloadFields = map[svc.SignalKind]struct{ required, optional string }{
	svc.SignalStarted:   {"", "pid"},
	svc.SignalFinished:  {"exit_code", "reason"},
	svc.SignalCompleted: {"result", "reason conversation"},
	svc.SignalFailed:    {"error", ""},
	svc.SignalProgress:  {"message", "percent needs_input submitted idle conversation"},
}

// ParseSignal parses a signal body strictly: an unknown field is an error that names the field.
func ParseSignal(runID string, body []byte) (svc.Signal, error) {
	var s Signal
	if err := StrictJSON(body, &s); err != nil {
		return svc.Signal{}, err
	}
	return s.Parse(runID)
}

// Parse converts the wire form to an svc.Signal and validates it. The attempt is checked later, against the run's
// row.
func (s Signal) Parse(runID string) (svc.Signal, error) {
	out := svc.Signal{RunID: runID, Kind: s.Kind, Source: s.Source, Timestamp: s.Timestamp, NoAttempt: s.Attempt == nil}
	if s.Attempt != nil {
		out.Attempt = *s.Attempt
	}
	fields, known := payloadFields[s.Kind]
	if !known {
		return out, out.Validate()
	}
	if s.Timestamp == 0 {
		return out, svc.Invalid("timestamp", "is required")
	}
	if s.Kind == svc.SignalProgress {
		if s.Seq == nil {
			return out, svc.Invalid("seq", "is required for progress")
		}
		out.Seq = *s.Seq
	} else if s.Seq != nil {
		return out, svc.Invalid("seq", "is allowed only with progress")
	}
	p, err := parsePayload(s.Payload, fields.required, fields.optional)
	if err != nil {
		return out, err
	}
	p.fill(&out)
	err = out.Validate()
	out.Cut()
	return out, err
}

func parsePayload(raw json.RawMessage, required, optional string) (payload, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return payload{}, svc.Invalid("payload", "must be an object")
	}
	var bad svc.Problems
	allowed := strings.Fields(required + " " + optional)
	for field, value := range given {
		if !slices.Contains(allowed, field) {
			bad.Add("payload."+field, "is not a field of this kind")
		} else if string(value) == "null" && slices.Contains(strings.Fields(required), field) {
			bad.Add("payload."+field, "must not be null")
		}
	}
	for _, field := range strings.Fields(required) {
		if _, has := given[field]; !has {
			bad.Add("payload."+field, "is required")
		}
	}
	if err := bad.Err(); err != nil {
		return payload{}, err
	}
	var p payload
	if err := json.Unmarshal(raw, &p); err != nil {
		return payload{}, typeError(err, "payload")
	}
	return p, nil
}

func (p payload) fill(s *svc.Signal) {
	set(&s.ExitCode, p.ExitCode)
	set(&s.Reason, p.Reason)
	set(&s.Result, p.Result)
	set(&s.Error, p.Error)
	set(&s.Message, p.Message)
	set(&s.NeedsInput, p.NeedsInput)
	set(&s.Submitted, p.Submitted)
	set(&s.Idle, p.Idle)
	set(&s.Conversation, p.Conversation)
	s.Percent, s.PID = p.Percent, p.PID
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// FromSignal returns the wire form of a signal, as wrappers and workers send it.
func FromSignal(s svc.Signal) Signal {
	p := payload{}
	switch s.Kind {
	case svc.SignalStarted:
		p.PID = s.PID
	case svc.SignalFinished:
		p.ExitCode, p.Reason = &s.ExitCode, optional(s.Reason)
	case svc.SignalCompleted:
		p.Result, p.Reason, p.Conversation = &s.Result, optional(s.Reason), optional(s.Conversation)
	case svc.SignalFailed:
		p.Error = &s.Error
	case svc.SignalProgress:
		p.Message, p.Percent, p.Conversation = &s.Message, s.Percent, optional(s.Conversation)
		if s.NeedsInput {
			p.NeedsInput = &s.NeedsInput
		}
		if s.Idle {
			p.Idle = &s.Idle
		}
		p.Submitted = optional(s.Submitted)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic("svc/wire: a payload of plain fields did not encode: " + err.Error())
	}
	out := Signal{Kind: s.Kind, Attempt: &s.Attempt, Source: s.Source, Payload: raw, Timestamp: s.Timestamp}
	if s.Kind == svc.SignalProgress {
		out.Seq = &s.Seq
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// StrictJSON decodes one JSON object into v. Unknown fields, wrong types and trailing data are validation errors that
// name the field.
func StrictJSON(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return typeError(err, "")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return svc.Invalid("body", "has trailing data after the JSON object")
	}
	return nil
}

func typeError(err error, prefix string) error {
	at := func(field string) string {
		switch {
		case field == "":
			return max(prefix, "body")
		case prefix == "":
			return field
		default:
			return prefix + "." + field
		}
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return svc.Invalid(at(wrong.Field), "is a %s; expected %s", wrong.Value, wrong.Type)
	}
	// encoding/json has no error type for an unknown field.
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return svc.Invalid(at(strings.Trim(name, `"`)), "is not a known field")
	}
	return svc.Invalid(max(prefix, "body"), "is not valid JSON: %v", err)
}
