package cli

import (
	"github.com/spf13/cobra"

	"svc/wrapper"
)

// execCommand is what runs inside a session. People do not call it.
func (a *app) execCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "exec", Short: "What runs inside a session", Hidden: true}
	inside := func(name, short string, run func([]string, wrapper.IO) int) {
		cmd.AddCommand(&cobra.Command{
			Use:                name,
			Short:              short,
			DisableFlagParsing: true, // its arguments are the wrapper's own
			RunE: func(_ *cobra.Command, args []string) error {
				if code := run(args, wrapper.IO{Stdin: a.in, Stdout: a.out, Stderr: a.err, Env: a.env}); code != 0 {
					return exitCode(code)
				}
				return nil
			},
		})
	}
	inside("run", "Start a provider and report on it", wrapper.Run)
	inside("signal", "Report from a provider's hook", wrapper.Signal)
	inside("demo", "A small scripted agent to try things with", wrapper.Demo)
	return cmd
}
