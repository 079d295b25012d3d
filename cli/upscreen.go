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

// start is what `svc up` prints when it has started.
type start struct {
	cfg          *config.Config
	orchestrator *orchestrator
	fresh        bool   // the data directory was made just now
	url          string // how this machine reaches the orchestrator
	tmux         string // its version
	noWorker     error  // why there is no worker; nil: there is one
	host         svc.Host
	tools        []foundTool // what the first start found; empty at later ones
	gateway      string      // the state of the gateway at the first start; empty: none is set, or it is a later start
	project      string      // describes the project that this start has made; empty: it has made none
	copies       string      // why runs of that project get no working copies; empty: they get them, or the folder is in no repository
}

// printStart prints the start screen of `svc up`. The token itself is printed on a terminal only; elsewhere, such as
// in a log file, the path of the token's file is printed.
func (a *app) printStart(s start) {
	st := a.stylesFor(a.out)
	fresh := ""
	if s.fresh {
		fresh = " (new)"
	}
	database, _, _ := strings.Cut(s.cfg.Server.Database, ":")
	a.out.printf("%s · data %s%s · %s\n", st.bold.Render("svc "+Version()), a.tilde(s.cfg.DataDir), fresh, database)
	a.out.printf("%s listening on %s%s\n", st.good.Render("✓"), s.url, reachableFrom(s.cfg.Server))
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

// reachableFrom describes from where else than this machine the orchestrator can be reached; empty: from nowhere.
func reachableFrom(s config.Server) string {
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

// providerMarks returns one word for each tool, with the available ones last. It leaves out standard ids that are
// absent, and counts the two modes of a tool once.
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

// hiddenProvider reports whether a list shows a provider only with --all: its id is a standard one, and it is not
// available.
func hiddenProvider(id string, available bool) bool {
	return !available && slices.Contains(provider.StandardIDs(), id)
}

// command returns how a user calls svc in another terminal so that it reaches this orchestrator: with the flags of
// this call.
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

// program returns the name by which a user calls this program: svc when it is on the PATH, else its path, relative
// when it lies below the current folder.
func (a *app) program() string {
	self, err := os.Executable()
	if err != nil || a.onPath("svc") != "" {
		return "svc"
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, self); err == nil && !strings.HasPrefix(rel, "..") {
			return "." + string(filepath.Separator) + rel // a name without a slash would be looked up on the PATH
		}
	}
	return self
}

// self returns how a user calls svc so that it reaches the orchestrator of this call: with the flags that name it.
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

// shellQuote quotes a text as one word for a POSIX shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// onPath returns the path of a program on the PATH; empty when it is not found.
func (a *app) onPath(name string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}
