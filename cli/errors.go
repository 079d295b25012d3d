package cli

import (
	"errors"
	"fmt"

	"svc"
)

// exitCode says to a script how a command ended.
type exitCode int

// Error is for the error interface only: an exit code says nothing to a person.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// fail prints what went wrong and chooses the exit code.
func (a *app) fail(err error) int {
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(a.err, "svc:", err)
	switch svc.CodeOf(err) {
	case svc.CodeUnauthorized:
		return 4
	case svc.CodeNotFound:
		return 6
	case svc.CodeConflict:
		return 9
	default:
		return 1
	}
}
