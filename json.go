package svc

import (
	"bytes"
	"encoding/json"
)

// JSON returns v as compact JSON. Unlike json.Marshal it does not escape <, > and & for HTML: no output of svc is
// embedded in HTML, each escape takes six bytes, and prompts contain many of these characters.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ParseError decodes the body of a response that is not a success into the error that the orchestrator sent. It
// returns false when the body is not the orchestrator's: a proxy, a load balancer or a captive portal has responded,
// and what became of the request is not known.
func ParseError(body []byte) (*Error, bool) {
	var envelope struct {
		Error struct {
			Code    Code           `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	ours := json.Unmarshal(body, &envelope) == nil
	e := &envelope.Error
	if !ours || e.Code == "" || e.Message == "" {
		return nil, false
	}
	return &Error{Code: e.Code, Message: e.Message, Details: e.Details}, true
}
