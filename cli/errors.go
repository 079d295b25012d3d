package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"svc"
	"svc/api"
	"svc/config"
	"svc/provider"
)

// exitCode is an error that only sets the exit code of the command, when everything that the user needs was already
// printed.
type exitCode int

// Error implements the error interface. The text is never shown to the user.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// problem is an error in the form in which it is printed: what happened, why, and what to do next. why and next are
// empty when there is nothing to say; empty lines are not printed.
type problem struct {
	what, why, next string
	exit            int
	err             error // the cause; nil: there is none
}

func (p *problem) Error() string {
	if p.why == "" {
		return p.what
	}
	return p.what + ": " + p.why
}

func (p *problem) Unwrap() error { return p.err }

// usage returns a problem with how the command was called.
func usage(next, format string, args ...any) error {
	return &problem{what: fmt.Sprintf(format, args...), next: next, exit: exitUsage}
}

// fail prints an error and returns the exit code.
func (a *app) fail(ctx context.Context, err error) int {
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	p := a.explain(err)
	a.err.println(a.styles().bad.Render("svc:"), indented(p.what, 2))
	lines := []struct{ label, text string }{{"why: ", p.why}, {"next:", p.next}}
	var server *api.ServerError
	if errors.As(err, &server) {
		lines = append(lines, struct{ label, text string }{"log: ", "the orchestrator's log has more under request_id " + server.RequestID})
	}
	for _, line := range lines {
		if line.text != "" {
			a.err.println(a.styles().dim.Render(line.label), indented(line.text, 2))
		}
	}
	return p.exit
}

// explain returns the text and the exit code for an error.
func (a *app) explain(err error) problem {
	var known *problem
	if errors.As(err, &known) {
		return *known
	}
	var output *outputError
	if errors.As(err, &output) {
		return output.explain()
	}
	p := problem{what: err.Error(), exit: exitFailed, err: err}
	var settings config.Problems
	var catalog provider.Problems
	var refused *svc.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		p.what, p.why, p.exit = "the certificate of the orchestrator at "+a.server()+" is not trusted here", untrusted.Err.Error(), exitUnreachable
		p.next = "install its CA on this machine or name the CA's file in SSL_CERT_FILE, and use a name that is in the certificate"
	case errors.Is(err, http.ErrSchemeMismatch):
		p.what, p.why, p.exit = "the orchestrator at "+a.server()+" does not speak TLS", "it answered in plain HTTP", exitUnreachable
		p.next = "use http:// instead of https:// in --server or SVC_API_URL"
	case a.timeout > 0 && errors.Is(err, context.DeadlineExceeded):
		p.what = fmt.Sprintf("not done within %s", a.timeout)
		p.next, p.exit = "use a longer --timeout, or check `svc status`", exitPending
	case errors.Is(err, api.ErrUnreachable):
		p.what, p.why = "the orchestrator at "+a.server()+" cannot be reached", afterColon(err, api.ErrUnreachable)
		p.next = "`svc up` starts one here; --server URL or SVC_API_URL names another"
		p.exit = exitUnreachable
	case errors.As(err, &refused):
		a.explainRefusal(refused, &p)
	case errors.As(err, &settings):
		p.what, p.why, p.exit = "the settings have errors", err.Error(), exitUsage
		p.next = "`svc help config` lists every setting"
	case errors.As(err, &catalog):
		p.what, p.why, p.exit = "the provider catalog has errors", err.Error(), exitUsage
		p.next = "fix the file; `svc help providers` lists every key"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		p.next = "choose another place with --data-dir or SVC_DATA_DIR, or fix this one"
	}
	return p
}

// causeHints says what to do about each cause that makes the orchestrator unavailable.
var causeHints = map[svc.Cause]string{
	svc.CauseDiskFull:            "free space on the disk of the database; nothing is lost, and workers keep what they report",
	svc.CauseDiskError:           "check the disk of the database and the orchestrator's log",
	svc.CauseDatabaseUnreachable: "check the database server and the network to it; running agents are not affected",
	svc.CauseDatabaseBusy:        "try again in a moment",
	svc.CauseDatabaseReadOnly:    "let the database take writes: its file, its disk or its server is set to read only",
	svc.CauseDatabaseRefused:     "check server.database in the orchestrator's settings",
	svc.CauseLostLock:            "use the orchestrator that has taken over",
}

// explainRefusal fills in p for an error that the orchestrator, or a rule of the root package, returned.
func (a *app) explainRefusal(e *svc.Error, p *problem) {
	p.what, p.exit = e.Message, exitOf(e.Code)
	if e.Err != nil {
		p.why = e.Err.Error()
	}
	if hint := causeHints[svc.CauseOf(e)]; hint != "" {
		p.next = hint
	}
	switch e.Code {
	case svc.CodeUnauthorized:
		p.what = "the orchestrator at " + a.server() + " does not accept the token"
		if a.tokenFrom != "" {
			p.why = "it came from " + a.tokenFrom
		}
		p.next = "set SVC_TOKEN to the content of the orchestrator's token file"
	case svc.CodeHostNotFound:
		p.next = "an operator creates it with: svc host create NAME"
	case svc.CodeHasChildren:
		p.next = "--recursive deletes everything below it too"
	case svc.CodeNeeded:
		p.next = "--detach removes those needs with it"
	case svc.CodeActiveRuns:
		p.next = "`svc run list --active` shows them, `svc run stop RUN` ends one"
	case svc.CodeUnknownProvider:
		p.next = "`svc provider list` lists the existing ones, `svc provider add PRESET` adds one"
	case svc.CodeRunNotRunning, svc.CodeRunNotActive:
		p.next = "`svc run show RUN` says how it ended, `svc run continue RUN PROMPT` continues its conversation, `svc run retry RUN` starts it again"
	case svc.CodeHostNotConnected:
		p.next = "`svc host list` shows when it was last seen"
	case svc.CodeOutcomeUnknown:
		p.next = "`svc run screen RUN` shows what the session looks like now"
	case svc.CodeInvalidTaskKind:
		p.next = "make a task below it: svc task add TITLE --parent ID"
	case svc.CodeLeaseHeld:
		p.next = "`svc attach RUN` lets you watch, and type once they leave"
	case svc.CodeNoSnapshot:
		p.next = "wait until it runs: svc run watch RUN"
	}
}

// afterColon returns the part of a wrapped error's text that follows its sentinel.
func afterColon(err, sentinel error) string {
	_, rest, ok := strings.Cut(err.Error(), sentinel.Error())
	if !ok {
		return err.Error()
	}
	if _, cause, ok := strings.Cut(rest, ": "); ok {
		return cause
	}
	return strings.TrimSpace(rest)
}
