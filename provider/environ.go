package provider

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Session is what the environment of a session is made of.
type Session struct {
	// Base is the worker's own environment, in the form of os.Environ.
	Base []string
	// Run holds the variables that the run's creator asked for. They count as the user's own: the
	// gateway beats them. Names that begin with SVC_ are ignored.
	Run map[string]string
	// Vars is what the worker says about the session: SVC_API_URL, SVC_RUN_ID and their like.
	Vars map[string]string
	// Gateway is the resolved gateway.
	Gateway Gateway
	// HooksConfig is the path of the rendered hook config; empty when there is none.
	HooksConfig string
	// Dir is the working directory, for PWD: some tools use it instead of the directory that the system tells. Empty
	// leaves PWD unset, never as the worker has it.
	Dir string
	// SelfDir is the directory of svc's own executable. It is put after the PATH, so that hooks
	// find svc; empty leaves the PATH alone.
	SelfDir string
}

// handedDown reports whether a variable of the worker's own environment may enter a session: not where the
// worker stands, nothing of svc, and nothing that systemd gave to the worker as its service. What a session needs of
// that is set for it, and the rest leads to folders and secrets of worker and orchestrator.
func handedDown(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY":
		return false
	}
	return !strings.HasPrefix(name, "SVC_")
}

// Environ is the environment for the entry's tool, sorted by name, each name once. The gateway beats
// the user's own provider variables; where it has nothing to say, those stay. The secrets of worker
// and operator are never in it, the gateway's key may be.
func (e Entry) Environ(s Session) []string {
	env := split(s.Base)
	maps.DeleteFunc(env, func(name, _ string) bool { return !handedDown(name) })
	for name, value := range s.Run {
		if !strings.HasPrefix(name, "SVC_") {
			env[name] = value
		}
	}
	maps.Copy(env, s.Vars)
	setNonEmpty(env, map[string]string{
		"SVC_GATEWAY_URL":     s.Gateway.URL,
		"SVC_GATEWAY_URL_V1":  s.Gateway.URLV1(),
		"SVC_GATEWAY_API_KEY": string(s.Gateway.APIKey),
		"SVC_HOOKS_CONFIG":    s.HooksConfig,
		"PATH":                WithDir(env["PATH"], s.SelfDir),
		"PWD":                 s.Dir,
	})
	bypassLoopback(env)
	e.EnvMap.apply(env)
	bypassLoopback(env) // the map may have set a proxy
	return join(env)
}

// apply sets the tool's variables. Sources are read before anything is set, so that the order of
// the lines has no meaning.
func (m EnvMap) apply(env map[string]string) {
	set := map[string]string{}
	for _, v := range m {
		if v.Source != "" {
			set[v.Name] = env[v.Source]
		} else if env[v.Name] == "" {
			set[v.Name] = v.Literal
		}
	}
	setNonEmpty(env, set)
}

func setNonEmpty(env, set map[string]string) {
	for name, value := range set {
		if value != "" {
			env[name] = value
		}
	}
}

// bypassLoopback keeps calls to this host away from a proxy, which could not make them. Tools that
// know only the lower-case names are served too.
func bypassLoopback(env map[string]string) {
	upper := env["HTTPS_PROXY"] != "" || env["HTTP_PROXY"] != "" || env["ALL_PROXY"] != ""
	lower := env["https_proxy"] != "" || env["http_proxy"] != "" || env["all_proxy"] != ""
	if !upper && !lower {
		return
	}
	user := env["NO_PROXY"]
	if user == "" {
		user = env["no_proxy"]
	}
	env["NO_PROXY"] = withLoopback(user)
	if lower || env["no_proxy"] != "" {
		if env["no_proxy"] != "" {
			user = env["no_proxy"]
		}
		env["no_proxy"] = withLoopback(user)
	}
}

func withLoopback(list string) string {
	var hosts []string
	for host := range strings.SplitSeq(list, ",") {
		if host = strings.TrimSpace(host); host != "" {
			hosts = append(hosts, host)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if !slices.Contains(hosts, host) && !slices.Contains(hosts, "*") {
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ",")
}

// WithDir is a PATH that has dir at its end, unless it has it already or dir is empty.
func WithDir(path, dir string) string {
	if dir == "" || slices.Contains(filepath.SplitList(path), dir) {
		return path
	}
	if path == "" {
		return dir
	}
	return path + string(os.PathListSeparator) + dir
}

// split reads an environment; of several values of one name the last counts.
func split(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// join writes an environment without the worker's secrets.
func join(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !slices.Contains(workerSecrets, name) {
			out = append(out, name+"="+env[name])
		}
	}
	return out
}
