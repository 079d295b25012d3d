package wire

import (
	"encoding/json"

	"svc"
)

// Refusal is what the orchestrator says when it does not take a request.
type Refusal struct {
	Code    svc.Code
	Message string
}

// RefusalOf reads the body of an answer that is not a success. It is false when
// the body is not the orchestrator's own: a proxy, a load balancer or a captive
// portal answered in its place, and nothing is known of the request.
func RefusalOf(body []byte) (Refusal, bool) {
	var envelope struct {
		Error struct {
			Code    svc.Code `json:"code"`
			Message string   `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Error.Code == "" || envelope.Error.Message == "" {
		return Refusal{}, false
	}
	return Refusal{Code: envelope.Error.Code, Message: envelope.Error.Message}, true
}

// ForGood says whether the same signal would be refused again: it is malformed,
// its run is unknown, or its attempt was never given out, or to another host. The code decides and
// not the status, because whatever lies between may answer with any status. A
// refused token is not for good: an operator replaces it.
func (r Refusal) ForGood() bool {
	switch r.Code {
	case svc.CodeValidation, svc.CodeForbidden, svc.CodeMissingAttempt, svc.CodeInvalidAttempt, svc.CodeNotFound, svc.CodeConflict, svc.CodeTooLarge:
		return true
	}
	return false
}
