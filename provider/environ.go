package provider

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Session has the inputs for the environment of a session.
type Session struct {
	// Base is the worker's own environment, in the form of os.Environ.
	Base []string
	// Run has the variables from the run's creator. They are treated like the user's own: the gateway's values
	// replace them. Names that begin with SVC_ are ignored.
	Run map[string]string
	// Vars are the worker's variables about the session, such as SVC_API_URL and SVC_RUN_ID.
	Vars map[string]string
	// Gateway is the resolved gateway.
	Gateway Gateway
	// HooksConfig is the path of the rendered hook config; empty when there is none.
	HooksConfig string
	// Dir is the working directory, for PWD: some tools use PWD instead of the directory that the system
	// returns. Empty leaves PWD unset; the worker's own value is never used.
	Dir string
	// SelfDir is the directory of svc's own executable. It is appended to the PATH, so that hooks find svc;
	// empty leaves the PATH unchanged.
	SelfDir string
}

// mayInherit reports whether a variable of the worker's own environment may enter a session. Excluded are the
// worker's directory, all of svc's variables, and the variables that systemd sets for the worker's service.
// Those that a session needs are set explicitly, and the others lead to folders and secrets of worker and
// orchestrator.
func mayInherit(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY":
		return false
	}
	return !strings.HasPrefix(name, "SVC_")
}

// Environ returns the environment for the entry's tool, sorted by name, each name once. The gateway's values
// replace the user's own provider variables; without a gateway's value, the user's stays. The environment never
// has the secrets of worker and operator, but it may have the gateway's key.
func (e Entry) Environ(s Session) []string {
	env := split(s.Base)
	maps.DeleteFunc(env, func(name, _ string) bool { return !mayInherit(name) })
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

// apply sets the tool's variables. All sources are read before a variable is set, so that the order of the
// lines does not matter.
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

// bypassLoopback excludes requests to this host from a proxy, which could not deliver them. It also sets the
// lower-case names for tools that use only those.
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

// WithDir returns path with dir at its end, unless path contains dir already or dir is empty.
func WithDir(path, dir string) string {
	if dir == "" || slices.Contains(filepath.SplitList(path), dir) {
		return path
	}
	if path == "" {
		return dir
	}
	return path + string(os.PathListSeparator) + dir
}

// split parses an environment; the last value of a name is used.
func split(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// join returns the environment as a list, without the worker's secrets.
func join(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !slices.Contains(workerSecrets, name) {
			out = append(out, name+"="+env[name])
		}
	}
	return out
}
