package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"svc"
	"svc/api"
)

// statuses maps every code to its HTTP status.
var statuses = map[svc.Code]int{
	svc.CodeValidation:         http.StatusBadRequest,
	svc.CodeInvalidTaskKind:    http.StatusBadRequest,
	svc.CodeUnknownProvider:    http.StatusBadRequest,
	svc.CodeInvalidKeys:        http.StatusBadRequest,
	svc.CodePromptTooLong:      http.StatusBadRequest,
	svc.CodeNotRelayed:         http.StatusNotFound,
	svc.CodeWorkspaceNotSafe:   http.StatusConflict,
	svc.CodeWorkspaceBusy:      http.StatusConflict,
	svc.CodeChangeMoved:        http.StatusConflict,
	svc.CodeNoTurns:            http.StatusConflict,
	svc.CodeNeedsInput:         http.StatusConflict,
	svc.CodeNoConversation:     http.StatusConflict,
	svc.CodeMissingAttempt:     http.StatusBadRequest,
	svc.CodeUnauthorized:       http.StatusUnauthorized,
	svc.CodeForbidden:          http.StatusForbidden,
	svc.CodeForbiddenOrigin:    http.StatusForbidden,
	svc.CodeNotFound:           http.StatusNotFound,
	svc.CodeNoSnapshot:         http.StatusNotFound,
	svc.CodeLogGone:            http.StatusNotFound,
	svc.CodeNoRecording:        http.StatusNotFound,
	svc.CodeHostNotFound:       http.StatusNotFound,
	svc.CodeMethodNotAllowed:   http.StatusMethodNotAllowed,
	svc.CodeConflict:           http.StatusConflict,
	svc.CodeProjectArchived:    http.StatusConflict,
	svc.CodeHasChildren:        http.StatusConflict,
	svc.CodeActiveRuns:         http.StatusConflict,
	svc.CodeRunNotActive:       http.StatusConflict,
	svc.CodeRunNotPending:      http.StatusConflict,
	svc.CodeNeeded:             http.StatusConflict,
	svc.CodeNeedInOwnLine:      http.StatusBadRequest,
	svc.CodeNeedCycle:          http.StatusBadRequest,
	svc.CodeRunNotRunning:      http.StatusConflict,
	svc.CodeLeaseHeld:          http.StatusConflict,
	svc.CodeInvalidAttempt:     http.StatusConflict,
	svc.CodeIdempotency:        http.StatusConflict,
	svc.CodePrecondition:       http.StatusPreconditionFailed,
	svc.CodeTooLarge:           http.StatusRequestEntityTooLarge,
	svc.CodeUnsupportedMedia:   http.StatusUnsupportedMediaType,
	svc.CodeInternal:           http.StatusInternalServerError,
	svc.CodeUnavailable:        http.StatusServiceUnavailable,
	svc.CodeHostNotConnected:   http.StatusServiceUnavailable,
	svc.CodeCapabilityMissing:  http.StatusServiceUnavailable,
	svc.CodeOutcomeUnknown:     http.StatusServiceUnavailable,
	svc.CodeReplicaUnreachable: http.StatusServiceUnavailable,
	svc.CodeSinkFailed:         http.StatusServiceUnavailable,
}

// retryAfter returns how many seconds a caller should wait after an unavailable.
func retryAfter(err error) string {
	return strconv.Itoa(int(max(1, math.Ceil(svc.RetryInOf(err).Seconds()))))
}

var shuttingDown = svc.Unavailable(svc.CauseShuttingDown)

// errorAnswer is the body of every response that is not a success.
type errorAnswer struct {
	Problem api.ErrorBody `json:"error"`
	status  int
}

// Error returns the message.
func (e *errorAnswer) Error() string { return e.Problem.Message }

// GetStatus returns the HTTP status; huma requires this method.
func (e *errorAnswer) GetStatus() int { return e.status }

// answerOf returns the part of an error that the caller may see. Any error that is not an svc.Error is internal: its
// text is logged and never sent.
func answerOf(ctx context.Context, err error) *errorAnswer {
	var known *svc.Error
	switch {
	case errors.As(err, &known):
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled) && ctx.Err() != nil:
		known = svc.Errorf(svc.CodeUnavailable, "the request was cancelled or timed out before it was complete; try again")
	default:
		known = svc.Errorf(svc.CodeInternal, "internal error; the orchestrator's log has the details under the request id")
	}
	status, ok := statuses[known.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if status >= 500 {
		noteError(ctx, err)
	}
	if x := exchangeOf(ctx); x != nil && known.Code == svc.CodeUnavailable {
		x.Header().Set("Retry-After", retryAfter(known))
		if svc.RetryInOf(known) > 0 { // thousands of callers may be told so at once, and must not keep their connections
			x.Header().Set("Connection", "close")
		}
	}
	return &errorAnswer{status: status, Problem: api.ErrorBody{Code: known.Code, Message: known.Message, Details: known.Details}}
}

// writeError sends an error response outside of huma.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	a := answerOf(r.Context(), err)
	body, encodeErr := json.Marshal(a)
	if encodeErr != nil { // details that cannot be encoded are a bug of ours
		noteError(r.Context(), fmt.Errorf("encode the details of %s: %w", a.Problem.Code, encodeErr))
		a.Problem.Details = nil
		body, _ = json.Marshal(a)
	}
	if a.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="svc"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(append(body, '\n'))
}

// writeJSON sends a response outside of huma.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeError(w, r, fmt.Errorf("encode the answer: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// ownErrors makes huma respond with our envelope. huma stores these settings in package variables, so they are set
// once for the process.
var ownErrors = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return answerOf(context.Background(), fromHuma(status, msg, errs))
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return answerOf(ctx.Context(), fromHuma(status, msg, errs))
	}
})

// fromHuma converts errors from huma to ours: either the error that a handler returned, or the list of validation
// errors.
func fromHuma(status int, msg string, errs []error) error {
	var bad svc.Problems
	for _, err := range errs {
		var d huma.ErrorDetailer
		if !errors.As(err, &d) {
			return err
		}
		field, text := problemOf(d.ErrorDetail())
		bad.Add(field, "%s", text)
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if status >= 500 {
		return errors.New(msg)
	}
	return svc.Invalid("body", "%s", msg)
}

// mismatchMark separates the field and the text of a type mismatch: huma passes on only the message of a decoder's
// error.
const mismatchMark = "\x00"

// decodeBody is json.Unmarshal with an error that names the field. The schema validation finds most wrong types
// before; it does not find 1.0 in place of an integer.
func decodeBody(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return errors.New(wrong.Field + mismatchMark + "expected " + wrong.Type.String())
	}
	return err
}

// problemOf returns the JSON path of a field and the text of its problem.
func problemOf(d *huma.ErrorDetail) (field, text string) {
	if field, text, ok := strings.Cut(d.Message, mismatchMark); ok {
		return field, text
	}
	where, rest, _ := strings.Cut(d.Location, ".")
	field = rest
	var missing string
	if n, _ := fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &missing); n == 1 {
		return strings.TrimPrefix(field+"."+missing, "."), "is required"
	}
	if field == "" {
		field = max(where, "body")
	}
	if where == "query" {
		field = listIndex.ReplaceAllString(field, "") // a repeated parameter is one parameter for its caller
	}
	if d.Message == validation.MsgUnexpectedProperty {
		return field, "is not a known field"
	}
	var words string
	if n, _ := fmt.Sscanf(d.Message, strings.ReplaceAll(validation.MsgExpectedOneOf, `"%s"`, "%q"), &words); n == 1 {
		return field, fmt.Sprintf("must be one of %s", words)
	}
	return field, inWords(d.Message)
}

// inWords returns the text of a schema error as a rule for the value. The limit at the end of the schema's text is
// kept.
func inWords(complaint string) string {
	for _, w := range schemaWords {
		was, _, limited := strings.Cut(w.was, "%")
		if rest, ok := strings.CutPrefix(complaint, was); ok && limited {
			return fmt.Sprintf(w.is, rest)
		}
		if complaint == was {
			return w.is
		}
	}
	return complaint
}

// schemaWords lists texts of the schema validation with their replacements.
var schemaWords = []struct{ was, is string }{
	{validation.MsgExpectedMinimumNumber, "must be at least %s"},
	{validation.MsgExpectedMaximumNumber, "must be at most %s"},
	{validation.MsgExpectedMinLength, "must have a length of at least %s"},
	{validation.MsgExpectedMaxLength, "must have a length of at most %s"},
	{validation.MsgExpectedMinItems, "must have at least %s entries"},
	{validation.MsgExpectedMaxItems, "must have at most %s entries"},
	{validation.MsgExpectedInteger, "must be a whole number"},
	{validation.MsgExpectedNumber, "must be a number"},
	{validation.MsgExpectedBoolean, "must be true or false"},
	{validation.MsgExpectedString, "must be a string"},
	{validation.MsgExpectedArray, "must be a list"},
	{validation.MsgExpectedObject, "must be an object"},
	{validation.MsgExpectedRFC3339DateTime, "must be a time such as 2026-01-31T09:00:00Z"},
}

// listIndex matches the list index at the end of a field's path.
var listIndex = regexp.MustCompile(`\[\d+\]$`)
