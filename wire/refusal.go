package wire

import "svc"

// Refusal is what the orchestrator says when it does not take a request.
type Refusal struct {
	Code    svc.Code
	Message string
}

// RefusalOf reads the body of an answer that is not a success. It is false when
// the body is not the orchestrator's own.
func RefusalOf(body []byte) (Refusal, bool) {
	err, ours := svc.ParseError(body)
	if !ours {
		return Refusal{}, false
	}
	return Refusal{Code: err.Code, Message: err.Message}, true
}

// ForGood reports whether the same signal would be refused again: it is malformed,
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
