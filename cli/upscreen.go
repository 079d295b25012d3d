package cli

import (
	"cmp"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"svc"
	"svc/config"
	"svc/provider"
	"svc/safetext"
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
	tools        []foundTool // what the first start found; empty at later ones
	gateway      string      // what the gateway said at the first start; empty: none is set, or it is not the first
	project      string      // the project that was made just now; empty: none was
	copies       string      // why runs of that project get no working copies; empty: they do, or nobody would expect it
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
	a.out.printf("%s · data %s%s · %s\n", st.bold.Render("svc "+Version()), a.tilde(s.cfg.DataDir), fresh, database)
	a.out.printf("%s listening on %s%s\n", st.good.Render("✓"), s.url, beyond(s.cfg.Server))
	a.printWorker(s, st)
	for _, line := range []field{{"gateway", s.gateway}, {"project", s.project}, {"copies", s.copies}} {
		if line.text != "" {
			a.out.printf("  %s: %s\n", line.label, line.text)
		}
	}
	if isTerminal(a.out) {
		a.out.printf("  open   %s/#token=%s\n", s.url, string(s.orchestrator.user.Value))
	} else {
		a.out.printf("  open   %s\n", s.url)
		a.out.printf("  token  in %s\n", s.orchestrator.user.From)
	}
	a.out.printf("  next   %s\n", a.command(s.cfg, s.url)+` task add "Say hello" --run`)
}

// beyond says who besides this machine can reach the orchestrator; empty: nobody.
func beyond(s config.Server) string {
	if isLoopback(s.Bind) {
		return ""
	}
	where := "bound to " + s.Bind
	if ip := net.ParseIP(s.Bind); ip != nil && ip.IsUnspecified() {
		where = "on all interfaces (" + s.Bind + ")"
	}
	if !s.TLS() {
		where += ", without TLS"
	}
	return ", " + where
}

func (a *app) printWorker(s start, st styles) {
	switch {
	case s.noWorker != nil:
		p := a.explain(s.noWorker)
		a.out.printf("%s no worker: %s\n", st.bad.Render("✕"), p.Error())
		a.out.printf("  install %s\n", p.next)
		return
	case s.host.Status != svc.HostOnline:
		word := cmp.Or(string(s.host.Status), "offline")
		a.out.printf("%s worker %q is %s · tmux %s\n", st.warn.Render("!"), s.cfg.Worker.HostName, word, s.tmux)
	default:
		a.out.printf("%s worker %q online · tmux %s\n", st.good.Render("✓"), s.host.Name, s.tmux)
	}
	if len(s.host.Providers) > 0 {
		a.out.printf("  providers: %s\n", joined(providerMarks(s.host.Providers, st), "   "))
	}
}

// providerMarks is one word for each tool, those that are available last. Standard ids that are absent are of no
// interest, and the two modes of a tool are one.
func providerMarks(reports map[string]svc.ProviderReport, st styles) []safetext.Text {
	var absent, present []safetext.Text
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		_, both := reports[svc.ToolOf(id)]
		switch r := reports[id]; {
		case both && id != svc.ToolOf(id), hiddenProvider(id, r.Available), r.Preset:
		case r.Available:
			present = append(present, safetext.Line(id)+" "+st.good.Render("✓"))
		case strings.HasPrefix(r.Reason, "no executable"):
			absent = append(absent, safetext.Line(id)+" "+st.bad.Render("✕")+" not installed")
		default:
			absent = append(absent, safetext.Line(id)+" "+st.bad.Render("✕")+" not working")
		}
	}
	return append(absent, present...)
}

// hiddenProvider says whether a provider is shown only when all are asked for: one of the standard ids that is not there.
func hiddenProvider(id string, available bool) bool {
	return !available && slices.Contains(provider.StandardIDs(), id)
}

// command is how a person calls svc from another window so that it finds this
// orchestrator: what was said by flags must be said again.
func (a *app) command(cfg *config.Config, url string) string {
	words := []string{a.program()}
	if a.dataDir != "" {
		words = append(words, "--data-dir", shellQuote(cfg.DataDir))
	}
	if _, given := a.flags["server.port"]; given {
		words = append(words, "--server", url)
	}
	return strings.Join(words, " ")
}

// program is what this program is called by: its path, from here if it is below, when it is not on the PATH.
func (a *app) program() string {
	self, err := os.Executable()
	if err != nil || a.onPath("svc") != "" {
		return "svc"
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, self); err == nil && !strings.HasPrefix(rel, "..") {
			return "." + string(filepath.Separator) + rel // a bare name would be looked for on the PATH
		}
	}
	return self
}

// self is how svc is called again so that it finds the orchestrator that this call speaks to: flags that say which one are said again.
func (a *app) self() string {
	words := []string{a.program()}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, shellQuote(value))
		}
	}
	add("--data-dir", a.dataDir)
	add("--config", a.cfgFile)
	add("--context", a.context)
	add("--server", a.flags["worker.server_url"].Value)
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
