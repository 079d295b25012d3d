package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"svc/api"
	"svc/config"
)

// isGroup is the annotation of a command that only has subcommands.
const isGroup = "group"

// group makes cmd a command that only has subcommands.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.DisableFlagsInUseLine = true
	cmd.Annotations = map[string]string{isGroup: "yes"}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		next := fmt.Sprintf("`%s --help` lists what there is", cmd.CommandPath())
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			next = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), like[0])
		}
		return usage(next, "there is no command `%s %s`", cmd.CommandPath(), args[0])
	}
	return cmd
}

// shortcut makes a frequent command of `svc run` available without the word "run".
func shortcut(cmd *cobra.Command, name string) *cobra.Command {
	long := cmd.Name()
	cmd.Use = name + strings.TrimPrefix(cmd.Use, long)
	cmd.Short += " (short for run " + long + ")"
	return cmd
}

// takes returns a check of the number of arguments of a command. A name that ends in … may be given several times; a
// name in brackets is optional.
func takes(names ...string) cobra.PositionalArgs {
	least, most := 0, len(names)
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
		if strings.HasSuffix(n, "…") || strings.HasSuffix(n, "…]") {
			most = 1 << 20
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		next := fmt.Sprintf("`%s --help` shows how it is used", cmd.CommandPath())
		switch {
		case len(args) < least:
			return usage(next, "`%s` needs %s", cmd.CommandPath(), strings.Join(names[len(args):least], " and "))
		case len(args) > most:
			return usage(next, "`%s` takes no argument %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}

// splitAtDash returns the arguments of a command before --, and those after it.
func splitAtDash(cmd *cobra.Command, args []string) (before, after []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// asking adds the flags of a command that calls the orchestrator.
func (a *app) asking(cmd *cobra.Command) *cobra.Command {
	a.setting(cmd, "server", "worker.server_url", "`URL` of the orchestrator (SVC_API_URL)")
	a.addContext(cmd)
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "give up after this `TIME`, such as 30s; 0: never")
	return cmd
}

// answering adds the flags of a command whose output a program can read.
func (a *app) answering(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().VarP(newChoice(&a.output, "table", "table", "json", "jsonl", "name"), "output", "o", "print as `FORM`: table, json, jsonl or name")
	json := cmd.Flags().VarPF(&jsonFlag{&a.output}, "json", "", "short for -o json")
	json.NoOptDefVal = "true"
	a.addTemplate(cmd)
	return cmd
}

// both adds the flags of asking and answering.
func (a *app) both(cmd *cobra.Command) *cobra.Command { return a.answering(a.asking(cmd)) }

// jsonFlag is --json.
type jsonFlag struct{ output *string }

func (j *jsonFlag) String() string   { return "false" }
func (j *jsonFlag) Type() string     { return "bool" }
func (j *jsonFlag) IsBoolFlag() bool { return true }

func (j *jsonFlag) Set(v string) error {
	if v != "false" {
		*j.output = "json"
	}
	return nil
}

// call is the part of a command that uses the orchestrator.
type call func(ctx context.Context, c *api.Client, args []string) error

// calls returns a command's RunE that calls do with a client. The settings are read when the command runs, and
// --timeout starts then.
func (a *app) calls(do call) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		ctx, cancel := a.limited(cmd.Context())
		defer cancel()
		if a.repeat {
			return a.repeatedly(ctx, c, func(ctx context.Context) error { return do(ctx, c, args) })
		}
		return do(ctx, c, args)
	}
}

// limited returns a context that ends at --timeout.
func (a *app) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		return context.WithTimeout(ctx, a.timeout)
	}
	return context.WithCancel(ctx)
}

// client returns a client for the orchestrator that the flags, the settings and the environment name.
func (a *app) client() (*api.Client, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	name, kept, ok, err := a.signedIn(cfg)
	if err != nil {
		return nil, err
	}
	if ok {
		a.tokenFrom, a.contextServer = "the sign-in of context "+name, kept.Server
		return &api.Client{BaseURL: kept.Server, Token: string(kept.Token)}, nil
	}
	token, err := config.UserToken(cfg.DataDir, a.getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &problem{
			what: "there is no token for the orchestrator at " + cfg.ServerURL(), why: "SVC_TOKEN is not set, and " + cfg.DataDir + " has no token file",
			next: "set SVC_TOKEN to the content of the orchestrator's token file; `svc up` starts an orchestrator here", exit: exitUnauthorized, err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	a.tokenFrom = token.From
	return &api.Client{BaseURL: cfg.ServerURL(), Token: string(token.Value)}, nil
}
