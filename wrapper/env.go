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

// sessionEnv is the provider's whole environment: what the launch file holds, without what belongs
// to the terminals around, and with what the session is told about itself. Nothing in it is a secret of
// the worker or names a folder that holds one.
//
// binDir stands first in PATH: hooks call svc by its name, which need not be installed anywhere and
// which other programs have too. Empty leaves PATH alone.
func sessionEnv(l rundir.Launch, own []string, binDir string) []string {
	set := []string{
		"SVC_API_URL=" + l.APIURL,
		"SVC_RUN_ID=" + l.RunID,
		"SVC_TASK_ID=" + l.TaskID,
		"SVC_ATTEMPT=" + strconv.Itoa(l.Attempt),
		"SVC_SIGNAL_TOKEN=" + l.SignalToken,
		"SVC_PROMPT_FILE=" + l.PromptFile,
		"SVC_RUN_DIR=" + l.AttemptFolder().SessionPath(), // where svc exec signal finds the spool
		"COLORTERM=truecolor",
	}
	drop := []string{"TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "SVC_WORKER_TOKEN", "SVC_TOKEN", "SVC_SIGNING_KEY", "SVC_DATA_DIR"}
	// The pane knows best which terminal it is.
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

// linkSelf makes a folder in which svc is this very program. It is empty when that cannot be.
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

// adoptNetwork gives this process the launch file's way to the network, for its own posts. It must
// come before the first one.
func adoptNetwork(env []string) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			if value := lookup(env, name); value != "" {
				_ = os.Setenv(name, value)
			}
		}
	}
}
