package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc"
)

// The exit codes. Scripts depend on them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitUnauthorized = 4
	exitNoSuccess    = 5
	exitNotFound     = 6
	exitUnreachable  = 7
	exitPending      = 8
	exitConflict     = 9
	exitInterrupted  = 130
)

// exitCodes describes the exit codes for users.
var exitCodes = []struct {
	code  int
	means string
}{
	{exitOK, "all went well"},
	{exitFailed, "it failed; also: a required provider is missing (svc provider doctor)"},
	{exitUsage, "the command is wrong: its usage, a value that is refused, an ambiguous name"},
	{exitUnauthorized, "the token is missing, not accepted, or its role is not enough"},
	{exitNoSuccess, "the run that the command waited for ended without success"},
	{exitNotFound, "a record was not found"},
	{exitUnreachable, "the orchestrator, or the host it would have to ask, cannot be reached"},
	{exitPending, "it was not done at --timeout, such as a wait for a run that is still active"},
	{exitConflict, "the present state does not allow it, such as stopping a run that has ended"},
	{exitInterrupted, "interrupted with Ctrl-C"},
}

// exitOf returns the exit code for an error code of the API.
func exitOf(code svc.Code) int {
	switch code {
	case svc.CodeUnauthorized, svc.CodeForbidden, svc.CodeForbiddenOrigin:
		return exitUnauthorized
	case svc.CodeNotFound, svc.CodeHostNotFound, svc.CodeNoSnapshot, svc.CodeLogGone, svc.CodeNoRecording, svc.CodeNotRelayed:
		return exitNotFound
	case svc.CodeConflict, svc.CodeProjectArchived, svc.CodeHasChildren, svc.CodeActiveRuns, svc.CodeRunNotActive,
		svc.CodeRunNotRunning, svc.CodeRunNotPending, svc.CodeNeeded, svc.CodeLeaseHeld, svc.CodePrecondition, svc.CodeIdempotency, svc.CodeInvalidAttempt, svc.CodeWorkspaceNotSafe, svc.CodeWorkspaceBusy,
		svc.CodeChangeMoved, svc.CodeNoTurns, svc.CodeNeedsInput, svc.CodeNoConversation:
		return exitConflict
	case svc.CodeUnavailable, svc.CodeHostNotConnected, svc.CodeReplicaUnreachable, svc.CodeOutcomeUnknown, svc.CodeSinkFailed:
		return exitUnreachable
	case svc.CodeValidation, svc.CodeInvalidTaskKind, svc.CodeUnknownProvider, svc.CodeInvalidKeys, svc.CodePromptTooLong, svc.CodeTooLarge,
		svc.CodeNeedInOwnLine, svc.CodeNeedCycle:
		return exitUsage
	default:
		return exitFailed
	}
}

// exitCodesTopic is `svc help exit-codes`, which is a help topic and not a command.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of svc, for scripts:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.means)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: strings.TrimRight(b.String(), "\n")}
}
