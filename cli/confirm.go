package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// confirmOnTerminal asks for a confirmation when there is a terminal. Without one it does not ask: a script that
// calls the command means it.
func (a *app) confirmOnTerminal(yes bool, format string, args ...any) error {
	return a.confirm(yes || !isTerminal(a.in) || !isTerminal(a.err), format, args...)
}

// confirm asks before an action that cannot be undone. Without a terminal it returns an error, unless --yes was
// given.
func (a *app) confirm(yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	question := fmt.Sprintf(format, args...)
	if !isTerminal(a.in) || !isTerminal(a.err) {
		return &problem{what: "this cannot be undone", why: question, next: "use --yes to confirm it", exit: exitUsage}
	}
	a.err.printf("%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // the end of input means no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	a.note("nothing was changed")
	return exitCode(exitFailed)
}
