package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"svc/config"
	"svc/git"
	"svc/provider"
	"svc/worker"
)

// checkup is the result of one check of svc doctor.
type checkup struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, warning or broken
	Found   string `json:"found"`
	Fix     string `json:"fix"` // empty when there is nothing to do
}

const (
	fine    = "ok"
	warning = "warning"
	broken  = "broken"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Find problems on this machine and at the orchestrator, and say how to fix them", Args: takes(),
		Long: "Find problems on this machine and at the orchestrator, and say how to fix them. It changes nothing.\n" +
			"It exits with 1 when something is broken; warnings do not count.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			ctx, cancel := a.limited(cmd.Context())
			defer cancel()
			found := append(a.checkHere(ctx, cfg), a.checkOrchestrator(ctx, cfg)...)
			if err := printList(a, checkupView(), found); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err // a check that timed out is not broken
			}
			for _, c := range found {
				if c.Verdict == broken {
					return exitCode(exitFailed)
				}
			}
			return nil
		},
	}
	return a.both(cmd)
}

func checkupView() view[checkup] {
	return view[checkup]{
		name: func(c checkup) string { return c.Check },
		columns: []column[checkup]{
			{head: "CHECK", cell: func(c checkup) string { return c.Check }},
			{head: "VERDICT", cell: func(c checkup) string { return c.Verdict }, tone: func(c checkup) tone {
				return map[string]tone{fine: good, warning: warn, broken: bad}[c.Verdict]
			}},
			{head: "FOUND", cell: func(c checkup) string { return c.Found }, flex: true},
			{head: "TO FIX", cell: func(c checkup) string { return c.Fix }, flex: true},
		},
	}
}

// checkGit checks git, which makes the working copies.
func checkGit(ctx context.Context) checkup {
	version, err := git.Program{}.Version(ctx)
	if err != nil {
		return checkup{"git", warning, err.Error() + "; runs of projects with a repository are not given to this host", "install git " + git.MinVersion.String() + " or newer"}
	}
	return checkup{"git", fine, version.String(), ""}
}

// checkHere checks this machine.
func (a *app) checkHere(ctx context.Context, cfg *config.Config) []checkup {
	out := []checkup{checkDataDir(cfg.DataDir), checkSpace(cfg.DataDir)}
	if a.getenv("SVC_SIGNING_KEY") != "" {
		out = append(out, a.checkSigningKey(cfg.DataDir))
	}
	if version, err := checkTmux(ctx); err != nil {
		p := a.explain(err)
		out = append(out, checkup{"tmux", warning, p.what + "; a worker needs it", p.next})
	} else {
		out = append(out, checkup{"tmux", fine, version, ""})
	}
	out = append(out, checkContainment(ctx, cfg))
	out = append(out, checkGit(ctx))
	return append(append(out, a.checkProviders(ctx, cfg)...), a.checkGateway(ctx, cfg))
}

// checkContainment reports whether sessions of a worker here are contained, or could be.
func checkContainment(ctx context.Context, cfg *config.Config) checkup {
	const name = "containment"
	wanted := cfg.Worker.Contain == "bwrap"
	_, version, err := worker.FindBwrap(ctx)
	switch {
	case wanted && err != nil:
		return checkup{name, broken, err.Error(), "a worker here takes no runs until then"}
	case wanted && os.Getuid() == 0:
		return checkup{name, warning, version + ", for sessions of root, who can do much all the same", "run the worker as a user of its own"}
	case wanted:
		return checkup{name, fine, version, ""}
	case err == nil:
		return checkup{name, fine, "off; " + version + " could contain sessions: [worker] contain = \"bwrap\"", ""}
	}
	return checkup{name, fine, "off: sessions can read what this account can", ""}
}

func checkDataDir(dir string) checkup {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return checkup{"data dir", fine, dir + " does not exist yet; the first start makes it", ""}
	case err != nil:
		return checkup{"data dir", broken, err.Error(), "make it readable for this account"}
	case !info.IsDir():
		return checkup{"data dir", broken, dir + " is not a directory", "remove it, or choose another with --data-dir"}
	case unix.Access(dir, unix.W_OK) != nil:
		return checkup{"data dir", broken, dir + " cannot be written", "chown it to this account, or choose another with --data-dir"}
	case info.Mode().Perm()&0o077 != 0:
		return checkup{"data dir", warning, fmt.Sprintf("%s is open to others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 " + dir}
	}
	return checkup{"data dir", fine, dir, ""}
}

// checkSigningKey checks the signing key that an orchestrator here would get from the environment.
func (a *app) checkSigningKey(dir string) checkup {
	const name = "signing key"
	key, _, err := config.EnsureSigningKey(dir, a.getenv)
	if err != nil {
		return checkup{name, broken, err.Error(), "an orchestrator here does not start until then"}
	}
	if path, other := config.SigningKeyFile(dir); other != "" && other != key {
		return checkup{name, warning, "SVC_SIGNING_KEY beats the file " + path + ", which holds another key",
			"hosts that joined with the file's key must join again; remove the one that is not meant"}
	}
	return checkup{name, fine, "SVC_SIGNING_KEY", ""}
}

// Runs are at risk when less than lowSpace bytes are free, and fail when less than noSpace are.
const (
	lowSpace = 2 << 30
	noSpace  = 100 << 20
)

func checkSpace(dir string) checkup {
	var fs unix.Statfs_t
	if err := unix.Statfs(existing(dir), &fs); err != nil {
		return checkup{"disk space", warning, err.Error(), ""}
	}
	free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // the fields' types differ between systems
	found := fmt.Sprintf("%.1f GiB free", float64(free)/(1<<30))
	fix := "make room; old logs are in " + dir + "/runs and " + dir + "/relay"
	switch {
	case free < noSpace:
		return checkup{"disk space", broken, found, fix}
	case free < lowSpace:
		return checkup{"disk space", warning, found, fix}
	}
	return checkup{"disk space", fine, found, ""}
}

// existing returns dir, or its nearest ancestor that exists.
func existing(dir string) string {
	for dir != "/" && dir != "." {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 1)]
	}
	return "/"
}

func (a *app) checkGateway(ctx context.Context, cfg *config.Config) checkup {
	g := a.askGateway(ctx, cfg)
	if g.Reason != "" {
		return checkup{"gateway", broken, g.words(), "correct [gateway] in the config file, or SVC_GATEWAY_URL and SVC_GATEWAY_API_KEY"}
	}
	return checkup{"gateway", fine, g.words(), ""}
}

func (a *app) checkProviders(ctx context.Context, cfg *config.Config) []checkup {
	catalog := provider.Defaults()
	if _, err := os.Stat(cfg.CatalogPath); err == nil {
		if catalog, err = provider.Load(cfg.CatalogPath); err != nil {
			return []checkup{{"provider catalog", broken, err.Error(), "correct the file"}}
		}
	}
	path := a.getenv("PATH")
	if self, err := os.Executable(); err == nil {
		path = provider.WithDir(path, filepath.Dir(self)) // a worker finds svc itself there too
	}
	reports := provider.ProbeAll(ctx, catalog, path)
	available, missing, asking := []string{}, []string{}, []string{}
	for _, id := range catalog.IDs() {
		if !reports[id].Available {
			missing = append(missing, id)
			continue
		}
		available = append(available, id)
		if e, err := catalog.Entry(id); err == nil && e.AsksTrust {
			asking = append(asking, id)
		}
	}
	if len(available) == 0 {
		return []checkup{{"providers", warning, "none is installed: " + strings.Join(missing, ", "), "svc provider doctor says what each needs"}}
	}
	found := []checkup{{"providers", fine, strings.Join(available, ", "), ""}}
	if len(asking) > 0 {
		found = append(found, checkup{"folder trust", warning, strings.Join(asking, ", ") + ": asks in each new folder, and so in each new working copy, whether it is trusted",
			"attach to the first run there and answer, or use an entry that asks nothing"})
	}
	return found
}
