// Package cli is the command line: it reads flags and settings, wires the other
// packages together and prints. It decides nothing else.
//
// A command is a noun and a verb. Standard output has the answer, standard error
// everything else. On a terminal the answer is a table with colours and ages;
// elsewhere it has neither, and no text is shortened.
//
// The files, by what their names begin with:
//
//	project, workitem_, run_, host, workspace, provider, trial, queue, inbox, notify, access, login, replica: a noun's commands
//	status, top, events, live, watch, stream: the current state, printed once or updated as it changes
//	attach_, keyboard, terminal, canvas, spinner: the user's terminal
//	up, upscreen, demo, init, folder, tools, gateway: the first start, and the folder and repository that a command uses
//	orchestrator, member, serve, worker_, install, tmux, address, pid1, port: the daemons and their wiring
//	doctor_, backup, restore, db, version: an operator's commands
//	exec: the commands that run inside a session
//	command, output, table, template, markdown, man, errors, exit, flags, confirm, complete, resolve, pick: shared by the commands
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"svc/config"
	"svc/docs"
)

// version is set by the build.
var version string

// Version returns the version of this binary: the one that the build set, else the one that Go recorded in it.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// app is one call of the command line: its streams, its environment and what its flags say.
type app struct {
	in       io.Reader
	out, err *stream
	env      []string
	src      config.Sources
	now      func() time.Time

	// The values of flags.
	flags   map[string]config.Flag // settings given as flags
	dataDir string                 // --data-dir
	cfgFile string                 // --config
	color   string                 // --color
	output  string                 // -o
	timeout time.Duration          // --timeout; 0: none
	verbose bool                   // --verbose
	repeat  bool                   // --watch
	context string                 // --context; empty: the current one

	// What the command found while it ran, for messages.
	loaded    *config.Config // the settings, once read
	tokenFrom string         // where the token came from

	template *template.Template // --template; nil: none

	away          bool   // the orchestrator cannot be reached, and the user was told
	contextServer string // the address of the context in use; empty: no context is used
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	if os.Getpid() == 1 {
		return runAsInit(args)
	}
	if len(args) > 0 && args[0] == "exec" {
		return newApp().run(context.Background(), args) // what runs inside a session handles signals itself
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newApp().run(ctx, args)
}

func newApp() *app {
	return &app{
		in: os.Stdin, out: newStream(os.Stdout), err: newStream(os.Stderr), env: os.Environ(), src: config.OS(), now: time.Now,
		flags: map[string]config.Flag{},
	}
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if a.out.failed != nil {
		err = &outputError{a.out.failed} // this error comes first: the user did not get the answer
	}
	if err != nil {
		return a.fail(ctx, err)
	}
	return exitOK
}

// The groups of the help text.
const (
	groupServe = "serve"
	groupWork  = "work"
	groupFleet = "fleet"
	groupMore  = "more"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "svc",
		Short:         "Run coding agents on many machines, and know what they do",
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out.lines())
	root.SetErr(a.err.lines())
	root.SetVersionTemplate("svc {{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&a.dataDir, "data-dir", "", "store all data in this `DIR` (SVC_DATA_DIR)")
	f.StringVar(&a.cfgFile, "config", "", "read settings from this `FILE` (SVC_CONFIG; default <data dir>/config.toml)")
	f.Var(newChoice(&a.color, "auto", "auto", "always", "never"), "color", "colours: `WHEN` is auto, always or never (auto honours NO_COLOR)")
	root.AddGroup(
		&cobra.Group{ID: groupServe, Title: "Run the service:"},
		&cobra.Group{ID: groupWork, Title: "Work with it:"},
		&cobra.Group{ID: groupFleet, Title: "Manage it:"},
		&cobra.Group{ID: groupMore, Title: "Other:"},
	)
	a.addGroup(root, groupServe, a.upCommand(), a.initCommand(), a.serveCommand(), a.workerCommand())
	a.addGroup(root, groupWork, a.statusCommand(), a.inboxCommand(), a.topCommand(), a.projectCommand(), a.taskCommand(), a.runCommand(), a.queueCommand(), a.workspaceCommand(), a.attachCommand(),
		shortcut(a.runList(), "ps"), shortcut(a.runLogs(), "logs"), shortcut(a.runStop(), "stop"))
	a.addGroup(root, groupFleet, a.hostCommand(), a.providerCommand(), a.eventsCommand(), a.notifyCommand(), a.doctorCommand(), a.backupCommand(), a.restoreCommand(), a.dbCommand(), a.tokenCommand(), a.replicaCommand())
	a.addGroup(root, groupMore, a.loginCommand(), a.whoamiCommand(), a.versionCommand())
	root.AddCommand(a.execCommand(), exitCodesTopic())
	for _, topic := range docs.Topics {
		root.AddCommand(&cobra.Command{Use: topic.Name, Short: topic.About, Long: strings.TrimRight(topic.Text(), "\n")})
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Sprintf("`%s --help` lists its flags", cmd.CommandPath()), "%s", flagProblem(err))
	})
	root.SetHelpCommandGroupID(groupMore)
	root.SetCompletionCommandGroupID(groupMore)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "Show the help of a command or a topic"
			addManFlag(c)
		case "completion":
			c.Short = "Print a script with which a shell completes commands and names"
			group(c)
			c.Annotations = nil // it is one command in the manual
		}
	}
	completeChoices(root)
	return group(root)
}

// The help text keeps the order in which commands are added: the commands that a new user needs come first.
func init() { cobra.EnableCommandSorting = false }

func (a *app) addGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
	}
	root.AddCommand(commands...)
}

// setting adds a flag that sets a setting. The flag takes precedence over the environment and the config file.
func (a *app) setting(cmd *cobra.Command, flag, name, usage string) {
	cmd.Flags().Func(flag, usage, func(v string) error {
		a.flags[name] = config.Flag{Name: "--" + flag, Value: v}
		return nil
	})
}

// config reads the settings for this call.
func (a *app) config() (*config.Config, error) {
	cfg, err := config.Load(a.sources())
	a.loaded = cfg
	return cfg, err
}

// sources returns where this call reads its settings from.
func (a *app) sources() config.Sources {
	src := a.src
	src.Flags, src.DataDir, src.ConfigFile = a.flags, a.dataDir, a.cfgFile
	return src
}

// server returns the orchestrator's address for messages; empty before the settings were read.
func (a *app) server() string {
	switch {
	case a.contextServer != "":
		return a.contextServer
	case a.loaded == nil:
		return ""
	default:
		return a.loaded.ServerURL()
	}
}

// logger returns the log of the service itself: it goes to stderr, as lines of key=value.
func (a *app) logger(level slog.Level) *slog.Logger {
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err.lines(), &slog.HandlerOptions{Level: level}))
}

func (a *app) getenv(name string) string { return a.src.Env(name) }
