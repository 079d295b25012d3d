package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"svc"
	"svc/config"
)

// start is what `svc up` has to tell when it is up.
type start struct {
	cfg          *config.Config
	orchestrator *orchestrator
	fresh        bool   // the data directory was made just now
	url          string // how this machine reaches the orchestrator
	tmux         string // its version
	noWorker     error  // why there is no worker; nil: there is one
	host         svc.Host
}

// printStart is the screen of `svc up`. The token is shown to a person only;
// a log file gets the place of its file.
func (a *app) printStart(s start) {
	st := a.stylesFor(a.out)
	fresh := ""
	if s.fresh {
		fresh = " (new)"
	}
	database, _, _ := strings.Cut(s.cfg.Server.Database, ":")
	fmt.Fprintf(a.out, "%s · data %s%s · %s\n", st.bold.Render("svc "+Version()), a.tilde(s.cfg.DataDir), fresh, database)
	fmt.Fprintf(a.out, "%s listening on %s\n", st.good.Render("✓"), s.url)
	a.printWorker(s, st)
	if isTerminal(a.out) {
		fmt.Fprintf(a.out, "  open   %s/#token=%s\n", s.url, string(s.orchestrator.user.Value))
	} else {
		fmt.Fprintf(a.out, "  open   %s\n", s.url)
		fmt.Fprintf(a.out, "  token  in %s\n", s.orchestrator.user.From)
	}
	fmt.Fprintf(a.out, "  next   %s\n", a.command(s.cfg, s.url)+` task add "Say hello" --run`)
}

func (a *app) printWorker(s start, st styles) {
	switch {
	case s.noWorker != nil:
		p := a.explain(s.noWorker)
		fmt.Fprintf(a.out, "%s no worker: %s\n", st.bad.Render("✕"), p.Error())
		fmt.Fprintf(a.out, "  install %s\n", p.next)
		return
	case s.host.Status != svc.HostOnline:
		word := cmp.Or(string(s.host.Status), "offline")
		fmt.Fprintf(a.out, "%s worker %q is %s · tmux %s\n", st.warn.Render("!"), s.cfg.Worker.HostName, word, s.tmux)
	default:
		fmt.Fprintf(a.out, "%s worker %q online · tmux %s\n", st.good.Render("✓"), s.host.Name, s.tmux)
	}
	if len(s.host.Providers) > 0 {
		fmt.Fprintf(a.out, "  providers: %s\n", strings.Join(providerMarks(s.host.Providers, st), "   "))
	}
}

// providerMarks is one word for each provider, those that are there last, where
// the eye ends.
func providerMarks(reports map[string]svc.ProviderReport, st styles) []string {
	var absent, present []string
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		switch r := reports[id]; {
		case r.Available:
			present = append(present, id+" "+st.good.Render("✓"))
		case strings.HasPrefix(r.Reason, "no executable"):
			absent = append(absent, id+" "+st.bad.Render("✕")+" not installed")
		default:
			absent = append(absent, id+" "+st.bad.Render("✕")+" not working")
		}
	}
	return append(absent, present...)
}

// command is how a person calls svc from another window so that it finds this
// orchestrator: what was said by flags must be said again.
func (a *app) command(cfg *config.Config, url string) string {
	words := []string{"svc"}
	if self, err := os.Executable(); err == nil && a.onPath("svc") == "" {
		words[0] = self
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, self); err == nil && !strings.HasPrefix(rel, "..") {
				words[0] = rel
			}
		}
	}
	if a.dataDir != "" {
		words = append(words, "--data-dir", shellQuote(cfg.DataDir))
	}
	if _, given := a.flags["server.port"]; given {
		words = append(words, "--server", url)
	}
	return strings.Join(words, " ")
}

// tilde shortens a path below the home directory.
func (a *app) tilde(path string) string {
	home := a.getenv("HOME")
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~/" + rest
	}
	return path
}

// shellQuote makes one word of a text for a POSIX shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// onPath is where a program is found; empty when it is not.
func (a *app) onPath(name string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}
