package wrapper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"svc/rundir"
)

// sessionEnv returns the provider's whole environment: the launch file's, without the variables of the
// terminals around it, and with the session's own variables. It has no secret of the worker and no name of a
// folder that holds one.
//
// binDir comes first in PATH: hooks call svc by its name, which need not be installed and which other programs
// also have. An empty binDir leaves PATH unchanged.
func sessionEnv(l rundir.Launch, own []string, binDir string) []string {
	set := []string{
		"SVC_API_URL=" + l.APIURL,
		"SVC_RUN_ID=" + l.RunID,
		"SVC_TASK_ID=" + l.TaskID,
		"SVC_ATTEMPT=" + strconv.Itoa(l.Attempt),
		"SVC_SIGNAL_TOKEN=" + l.SignalToken,
		"SVC_PROMPT_FILE=" + l.PromptFile,
		"SVC_RUN_DIR=" + l.AttemptFolder().SessionPath(), // "svc exec signal" finds the spool there
		"COLORTERM=truecolor",
	}
	drop := []string{"TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "SVC_WORKER_TOKEN", "SVC_TOKEN", "SVC_SIGNING_KEY", "SVC_DATA_DIR"}
	// tmux has set the right TERM for the pane.
	if term := lookup(own, "TERM"); term != "" {
		set = append(set, "TERM="+term)
	}
	if binDir != "" {
		set = append(set, "PATH="+strings.TrimRight(binDir+":"+lookup(l.Env, "PATH"), ":"))
	}
	replaced := map[string]bool{}
	for _, name := range drop {
		replaced[name] = true
	}
	for _, pair := range set {
		name, _, _ := strings.Cut(pair, "=")
		replaced[name] = true
	}
	env := make([]string, 0, len(l.Env)+len(set))
	for _, pair := range l.Env {
		name, _, ok := strings.Cut(pair, "=")
		if ok && name != "" && !replaced[name] {
			env = append(env, pair)
		}
	}
	return append(env, set...)
}

// linkSelf makes a folder in which svc is a link to this program. It returns an empty path if that fails.
func linkSelf(a rundir.Attempt) (binDir string) {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	binDir = a.BinPath()
	if err := os.MkdirAll(binDir, 0o700); err != nil {
		return ""
	}
	link := filepath.Join(binDir, "svc")
	if err := os.Symlink(self, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	return binDir
}

// adoptNetwork sets the launch file's network variables for this process and its posts. It must be called
// before the first post.
func adoptNetwork(env []string) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			if value := lookup(env, name); value != "" {
				_ = os.Setenv(name, value)
			}
		}
	}
}
