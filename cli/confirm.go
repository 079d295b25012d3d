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

// confirmHere asks whoever sits at a terminal, before something that a script which names it means.
func (a *app) confirmHere(yes bool, format string, args ...any) error {
	return a.confirm(yes || !isTerminal(a.in) || !isTerminal(a.err), format, args...)
}

// confirm asks before something that cannot be taken back. Without a terminal
// there is nobody to ask: then --yes has to be said beforehand.
func (a *app) confirm(yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	question := fmt.Sprintf(format, args...)
	if !isTerminal(a.in) || !isTerminal(a.err) {
		return &problem{what: "this cannot be taken back", why: question, next: "say --yes when you mean it", exit: exitUsage}
	}
	a.err.printf("%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // the end of input is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	a.note("nothing was changed")
	return exitCode(exitFailed)
}
