package svc

import (
	"errors"
	"fmt"
	"time"
)

// Code identifies a kind of refusal. Codes are part of the contract: programs compare codes, and messages are for
// people.
type Code string

// The codes of the standard refusals, and of refusals that a caller may want to distinguish.
const (
	CodeValidation         Code = "validation_failed"
	CodeUnauthorized       Code = "unauthorized"
	CodeForbidden          Code = "forbidden"
	CodeForbiddenOrigin    Code = "forbidden_origin"
	CodeNotFound           Code = "not_found"
	CodeConflict           Code = "conflict"
	CodeInternal           Code = "internal"
	CodeUnavailable        Code = "unavailable"
	CodeMethodNotAllowed   Code = "method_not_allowed"
	CodeTooLarge           Code = "body_too_large"
	CodeUnsupportedMedia   Code = "unsupported_media_type"
	CodePrecondition       Code = "precondition_failed"
	CodeProjectArchived    Code = "project_archived"
	CodeHasChildren        Code = "has_children"
	CodeActiveRuns         Code = "active_runs"
	CodeInvalidTaskKind    Code = "invalid_task_kind"
	CodeUnknownProvider    Code = "unknown_provider"
	CodeRunNotActive       Code = "run_not_active"
	CodeRunNotRunning      Code = "run_not_running"
	CodeRunNotPending      Code = "run_not_pending"
	CodeNeedInOwnLine      Code = "need_in_own_line"
	CodeNeedCycle          Code = "need_cycle"
	CodeNeeded             Code = "needed"
	CodeNoSnapshot         Code = "no_snapshot"
	CodeLogGone            Code = "log_gone"
	CodeNoRecording        Code = "no_recording"
	CodeLeaseHeld          Code = "lease_held"
	CodeLeaseTaken         Code = "lease_taken"
	CodeInvalidKeys        Code = "invalid_keys"
	CodeHostNotConnected   Code = "host_not_connected"
	CodeCapabilityMissing  Code = "capability_missing"
	CodeHostNotFound       Code = "host_not_found"
	CodeMissingAttempt     Code = "missing_attempt"
	CodeInvalidAttempt     Code = "invalid_attempt"
	CodeIdempotency        Code = "idempotency_key_reused"
	CodeOutcomeUnknown     Code = "outcome_unknown"
	CodeReplicaUnreachable Code = "replica_unreachable"
	CodePromptTooLong      Code = "prompt_too_long"
	CodeNotRelayed         Code = "not_relayed"
	CodeWorkspaceNotSafe   Code = "workspace_not_safe"
	CodeSinkFailed         Code = "sink_failed"
	CodeWorkspaceBusy      Code = "workspace_busy"
	CodeChangeMoved        Code = "change_moved"
	CodeNoTurns            Code = "no_turns"
	CodeNeedsInput         Code = "needs_input"
	CodeNoConversation     Code = "no_conversation"
)

// Error is the only error type whose text is shown to users. Every other error is reported as internal, and its text
// never leaves the process.
type Error struct {
	Code    Code
	Message string         // for a person: what happened and what to try
	Details map[string]any // for a program; nil when there is nothing to add
	Err     error          // the cause, for the operator's log only
}

// Error returns the message, followed by the cause when there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error without details.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With returns a copy with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[key] = value
	return &c
}

// Because returns a copy with the cause err.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// RetryIn returns a copy that tells the caller after which time it is its turn.
func (e *Error) RetryIn(d time.Duration) *Error {
	return e.With("retry_in_ms", float64(d.Milliseconds()))
}

// RetryInOf returns after which time it is the turn of the caller that got an error; 0: the error does not say it.
func RetryInOf(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	ms, _ := e.Details["retry_in_ms"].(float64) // also when it was parsed
	return time.Duration(ms * float64(time.Millisecond))
}

// NotFound returns the error for an id that no record of that noun has.
func NotFound(noun, id string) *Error {
	return Errorf(CodeNotFound, "no %s %q", noun, id)
}

// Cause identifies why something is unavailable. The refusal carries it as details.cause.
type Cause string

// The causes.
const (
	CauseDiskFull            Cause = "disk_full"
	CauseDiskError           Cause = "disk_error"
	CauseDatabaseUnreachable Cause = "database_unreachable"
	CauseDatabaseBusy        Cause = "database_busy"
	CauseDatabaseReadOnly    Cause = "database_read_only"
	CauseDatabaseRefused     Cause = "database_refused"
	CauseDatabaseDamaged     Cause = "database_damaged"
	CauseLostLock            Cause = "lost_lock"
	CauseShuttingDown        Cause = "shutting_down"
	CauseDraining            Cause = "draining"
)

// Words returns the cause as text for a person.
func (c Cause) Words() string {
	switch c {
	case CauseDiskFull:
		return "the disk of the database is full"
	case CauseDiskError:
		return "the disk of the database reports errors"
	case CauseDatabaseUnreachable:
		return "the orchestrator cannot reach its database"
	case CauseDatabaseBusy:
		return "the database is busy"
	case CauseDatabaseReadOnly:
		return "the database takes no writes"
	case CauseDatabaseRefused:
		return "the database refuses the orchestrator"
	case CauseDatabaseDamaged:
		return "the database is damaged, or is not a database of svc"
	case CauseLostLock:
		return "another orchestrator has taken over this database"
	case CauseShuttingDown:
		return "the orchestrator is shutting down"
	case CauseDraining:
		return "the orchestrator is draining"
	default:
		return string(c)
	}
}

// Unavailable returns the error for something that cannot be done now, with its cause.
func Unavailable(c Cause) *Error {
	next := "try again"
	if c == CauseDatabaseDamaged {
		next = "`svc restore` brings a backup back"
	}
	return Errorf(CodeUnavailable, "%s; %s", c.Words(), next).With("cause", string(c))
}

// CauseOf returns the cause in an unavailable error, "" when there is none.
func CauseOf(err error) Cause {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	c, _ := e.Details["cause"].(string)
	return Cause(c)
}

// CodeOf returns the code of the first Error in the chain, CodeInternal for any other error and "" for nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return CodeInternal
	}
}
