package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"svc/api"
	"svc/config"
)

const defaultContext = "default"

// loginCommand stores a server and a token for later commands.
func (a *app) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Sign in to an orchestrator on another machine", Args: cobra.MaximumNArgs(1),
		Long: "Ask for the address of an orchestrator and a token, check them, and store them for later commands,\n" +
			"in contexts.toml beside config.toml, which only you can read. With several orchestrators, --context NAME names each.\n" +
			"Without a terminal, both are read from standard input, each as a line.",
		RunE: func(cmd *cobra.Command, args []string) error { return a.login(cmd.Context(), args) },
	}
	a.addContext(cmd)
	return cmd
}

// addContext adds the flag that chooses one of the orchestrators of `svc login`.
func (a *app) addContext(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.context, "context", "", "use the orchestrator with this `NAME`, given to svc login")
}

func (a *app) login(ctx context.Context, args []string) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	contexts, err := config.ReadContexts(cfg.DataDir)
	if err != nil {
		return err
	}
	in := bufio.NewReader(a.in)
	var server string
	if len(args) == 1 {
		server = args[0]
	} else if server, err = a.ask(in, "address of the orchestrator ["+cfg.ServerURL()+"]: "); err != nil {
		return err
	}
	if server == "" {
		server = cfg.ServerURL()
	}
	if !strings.Contains(server, "://") {
		return usage("write it as http://HOST:PORT or https://HOST", "%q is not the address of an orchestrator", server)
	}
	token, err := a.askSecret(in, "token: ")
	if err != nil {
		return err
	}
	c := &api.Client{BaseURL: strings.TrimRight(server, "/"), Token: token}
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	name := a.context
	if name == "" {
		name = defaultContext
	}
	contexts.Named[name] = config.Context{Server: c.BaseURL, Token: config.Secret(token)}
	contexts.Current = name
	if err := contexts.Save(); err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	a.out.printf("signed in to %s as %s (%s)\n", c.BaseURL, me.Name, me.Role)
	return nil
}

func (a *app) ask(in *bufio.Reader, question string) (string, error) {
	if isTerminal(a.in) {
		a.err.printf("%s", question)
	}
	line, err := in.ReadString('\n')
	if err != nil && line == "" {
		return "", usage("", "the answer to %q is missing", strings.TrimSuffix(question, ": "))
	}
	return strings.TrimSpace(line), nil
}

// askSecret reads a secret without showing it.
func (a *app) askSecret(in *bufio.Reader, question string) (string, error) {
	f, ok := a.in.(*os.File)
	if !ok || !isTerminal(f) {
		return a.ask(in, question)
	}
	a.err.printf("%s", question)
	word, err := term.ReadPassword(int(f.Fd()))
	a.err.println()
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	if len(word) == 0 {
		return "", errors.New("no token was given")
	}
	return strings.TrimSpace(string(word)), nil
}

// signedIn returns the context that a command uses; ok is false when it uses none. A flag or a variable of the
// environment takes precedence over the stored context.
func (a *app) signedIn(cfg *config.Config) (name string, c config.Context, ok bool, err error) {
	_, flag := a.flags["worker.server_url"]
	if a.context == "" && (flag || a.getenv("SVC_TOKEN") != "" || a.getenv("SVC_API_URL") != "") {
		return "", config.Context{}, false, nil
	}
	contexts, err := config.ReadContexts(cfg.DataDir)
	if err != nil {
		return "", config.Context{}, false, err
	}
	name = a.context
	if name == "" {
		name = contexts.Current
	}
	c, ok = contexts.Named[name]
	if a.context != "" && !ok {
		return "", c, false, usage("`svc login --context "+name+"` signs in", "there is no context %q", name)
	}
	return name, c, ok, nil
}
