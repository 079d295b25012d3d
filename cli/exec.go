package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"svc/demo"
	"svc/wrapper"
)

// execCommand holds the commands that svc starts inside a session. Users do not call them. Main handles no signal for
// them: Ctrl-C ends an agent like any program, from its first moment on, and the wrapper passes signals on.
func (a *app) execCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "exec", Short: "What runs inside a session", Hidden: true}
	inside := func(name, short string, run func([]string, wrapper.IO) int) {
		cmd.AddCommand(&cobra.Command{
			Use:                name,
			Short:              short,
			DisableFlagParsing: true, // the wrapper parses its arguments
			RunE: func(_ *cobra.Command, args []string) error {
				if code := run(args, wrapper.IO{Stdin: a.in, Stdout: a.out.raw(), Stderr: a.err.raw(), Env: a.env}); code != 0 {
					return exitCode(code)
				}
				return nil
			},
		})
	}
	inside("run", "Start a provider and report on it", wrapper.Run)
	inside("inside", "Start a provider as the first process of a contained session", wrapper.Inside)
	inside("signal", "Report from a provider's hook", wrapper.Signal)
	inside("comment", "Tell what became of a comment that the agent was sent", wrapper.Comment)
	cmd.AddCommand(a.sinkCommand())
	inside("demo", "A small scripted agent to try things with", demo.Run)
	return cmd
}

// sinkCommand writes the log of a session. It reads until the session ends, even when the worker ends before. So it
// ignores the signals that end other commands.
func (a *app) sinkCommand() *cobra.Command {
	var limit int64
	cmd := &cobra.Command{
		Use:   "sink FILE [STATE] [TIMES]",
		Short: "Append standard input to a run's log",
		Args:  takes("FILE", "[STATE]", "[TIMES]"),
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			args = append(args, "", "")
			return wrapper.Sink(a.in, args[0], limit, args[1], args[2])
		},
	}
	cmd.Flags().Int64Var(&limit, "max", 0, "stop writing at this many `BYTES`; 0: never")
	return cmd
}
