package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc/safetext"
)

// unit is a systemd unit for the orchestrator or the worker.
type unit struct {
	name        string // without .service
	description string
	command     []string
	dataDir     string
	path        string // the PATH on which agents are found; empty: systemd's default
	keepRunning bool   // sessions outlive the daemon
	system      bool   // a system unit; else a unit of the user
	user        string // the account of a system unit
}

// text returns the unit file. It is kept simple because people edit it.
func (u unit) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\nAfter=network-online.target\nWants=network-online.target\n"+
		"# However often it fails, it is started again.\nStartLimitIntervalSec=0\n\n[Service]\n", u.description)
	if u.system {
		fmt.Fprintf(&b, "User=%s\n", u.user)
	}
	if u.path != "" {
		fmt.Fprintf(&b, "Environment=%s\n", quoteUnit("PATH="+u.path))
	}
	fmt.Fprintf(&b, "Environment=%s\n", quoteUnit("SVC_DATA_DIR="+u.dataDir))
	words := make([]string, len(u.command))
	for i, w := range u.command {
		words[i] = quoteUnit(w)
	}
	fmt.Fprintf(&b, "ExecStart=%s\nRestart=always\nRestartSec=1\nLimitNOFILE=65536\n", strings.Join(words, " "))
	if u.keepRunning {
		b.WriteString("# Sessions belong to their runs, not to the worker: they survive its restart, and one that runs out of\n" +
			"# memory or processes does not end the worker or the others.\nKillMode=process\nOOMPolicy=continue\nTasksMax=infinity\n")
	}
	target := "default.target"
	if u.system {
		target = "multi-user.target"
	}
	fmt.Fprintf(&b, "\n[Install]\nWantedBy=%s\n", target)
	return b.String()
}

// quoteUnit writes one word of a unit file. Systemd expands % and $ and reads
// backslashes in quotes.
func quoteUnit(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`).Replace(word)
	if word != "" && !strings.ContainsAny(word, " \t\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// file returns the path where systemd looks for the unit. configHome is the user's.
func (u unit) file(configHome string) string {
	if u.system {
		return "/etc/systemd/system/" + u.name + ".service"
	}
	return filepath.Join(configHome, "systemd", "user", u.name+".service")
}

// configHome returns the folder of the user's settings, by the same rules as systemd.
func (a *app) configHome(me *user.User) string {
	if dir := a.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(cmp.Or(a.getenv("HOME"), me.HomeDir), ".config")
}

// installFlags are the flags of both install commands.
type installFlags struct {
	system, print bool
	user          string
}

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.system, "system", false, "write a system unit, in /etc; needs root (default: a unit of the user)")
	cmd.Flags().StringVar(&f.user, "user", "", "`NAME` of the account that a system unit runs as (default: this one)")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the unit and write nothing")
}

func (a *app) serveInstall() *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "install", Short: "Write a systemd unit for the orchestrator", Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.install(cmd.Context(), f, unit{name: "svc", description: "svc orchestrator", command: []string{"serve"}})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) workerInstall() *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "install", Short: "Write a systemd unit for this host's worker", Args: takes(),
		Long: "Write a systemd unit for this host's worker. It contains the PATH of this shell, on which the agents are\n" +
			"found, and the address of the orchestrator. The worker token must be in the data directory:\n" +
			"start the worker once with --store-token.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			command := []string{"worker", "--server", cfg.ServerURL(), "--host-name", cfg.Worker.HostName}
			return a.install(cmd.Context(), f, unit{name: "svc-worker", description: "svc worker", command: command,
				path: a.getenv("PATH"), keepRunning: true})
		},
	}
	a.setting(cmd, "server", "worker.server_url", "`URL` of the orchestrator (SVC_API_URL)")
	a.setting(cmd, "host-name", "worker.host_name", "`NAME` under which an operator created this host")
	f.add(cmd)
	return cmd
}

// install completes a unit and writes it. It never overwrites a file that differs, because someone may have edited
// it.
func (a *app) install(ctx context.Context, f installFlags, u unit) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("find this account: %w", err)
	}
	u.command = append([]string{self}, u.command...)
	u.dataDir, u.system, u.user = cfg.DataDir, f.system, f.user
	if u.user == "" {
		u.user = me.Username
	}
	if f.print {
		a.out.printf("%s", safetext.Lines(u.text()))
		return nil
	}
	path := u.file(a.configHome(me))
	if err := writeUnit(path, u.text()); err != nil {
		return err
	}
	a.out.println(path)
	a.note("next: %s", startUnit(ctx, u))
	return nil
}

func writeUnit(path, text string) error {
	if old, err := os.ReadFile(path); err == nil {
		if string(old) == text {
			return nil
		}
		return &problem{what: path + " exists and is different", why: "someone may have edited it", next: "remove it, or compare with: svc … install --print", exit: exitConflict}
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if errors.Is(err, fs.ErrPermission) {
		return &problem{what: "the unit cannot be written", why: err.Error(), next: "use sudo, or leave out --system", exit: exitFailed, err: err}
	}
	return err
}

// startUnit returns the command that starts a unit now and at every boot.
func startUnit(ctx context.Context, u unit) string {
	if u.system {
		return "systemctl daemon-reload && systemctl enable --now " + u.name
	}
	next := "systemctl --user daemon-reload && systemctl --user enable --now " + u.name
	if _, err := exec.LookPath("loginctl"); err == nil && ctx.Err() == nil {
		next += " && loginctl enable-linger"
	}
	return next
}
