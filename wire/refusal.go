package wire

import (
	"time"

	"svc"
)

// Refusal is the orchestrator's error response to a request.
type Refusal struct {
	Code    svc.Code
	Message string
	RetryIn time.Duration // after it, it is the caller's turn; 0: not told
}

// RefusalOf parses the body of a response that is not a success. It returns false when the body was not sent by the
// orchestrator.
func RefusalOf(body []byte) (Refusal, bool) {
	err, ours := svc.ParseError(body)
	if !ours {
		return Refusal{}, false
	}
	return Refusal{Code: err.Code, Message: err.Message, RetryIn: svc.RetryInOf(err)}, true
}

// ForGood reports whether the same signal would be refused again: it is malformed, its run is unknown, or its attempt
// was never dispatched or was dispatched to another host. This is decided by the code and not by the status, because
// a proxy may respond with any status. A refused token is not permanent, because an operator can replace it.
func (r Refusal) ForGood() bool {
	switch r.Code {
	case svc.CodeValidation, svc.CodeForbidden, svc.CodeMissingAttempt, svc.CodeInvalidAttempt, svc.CodeNotFound, svc.CodeConflict, svc.CodeTooLarge:
		return true
	}
	return false
}
