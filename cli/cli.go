// Package cli is the command line: it reads flags and settings, wires the other
// packages together and prints. It decides nothing else.
package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"svc/config"
)

// version is set by the build.
var version string

// Version is what the binary says of itself.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// app is one call of the command line: where it reads, writes and looks things
// up. Tests give it their own.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      []string
	src      config.Sources
	flags    map[string]config.Flag // settings given as flags
	dataDir  string                 // --data-dir
	cfgFile  string                 // --config
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), src: config.OS(), flags: map[string]config.Flag{}}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return 0
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "svc",
		Short:         "Run coding agents on many machines, and know what they do",
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("svc {{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&a.dataDir, "data-dir", "", "where svc keeps its files")
	f.StringVar(&a.cfgFile, "config", "", "the config file (default <data dir>/config.toml)")
	root.AddCommand(a.serveCommand(), a.execCommand(), a.backupCommand())
	return root
}

// setting makes a flag of a setting. A flag that is given beats everything
// else.
func (a *app) setting(cmd *cobra.Command, flag, name, usage string) {
	cmd.Flags().Func(flag, usage, func(v string) error {
		a.flags[name] = config.Flag{Name: "--" + flag, Value: v}
		return nil
	})
}

// config reads the settings as they are for this call.
func (a *app) config() (*config.Config, error) {
	src := a.src
	src.Flags, src.DataDir, src.ConfigFile = a.flags, a.dataDir, a.cfgFile
	return config.Load(src)
}

// logger writes the service's own log: to stderr, one line of key=value each.
func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (a *app) stdLookup(name string) string { return a.src.Env(name) }
