package svc

import (
	"bytes"
	"encoding/json"
)

// JSON is a value as compact JSON. Other than json.Marshal it leaves <, > and & as they are: escaped
// for HTML, which nothing of ours ends up in, each would take six bytes, and prompts are full of them.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ParseError reads the body of an answer that is not a success back into the error that it was made of. It is false when the body is not
// the orchestrator's own: a proxy, a load balancer or a captive portal answered in its place, and nothing is known of the request.
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
