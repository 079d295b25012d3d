package git

import (
	"os"
	"strconv"
)

// passed are the variables that git and the programs it reaches a remote with get of the caller's own environment.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK", "KRB5CCNAME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

// defaultSSH reaches a remote over ssh unless the host's user has said otherwise.
const defaultSSH = "ssh -o BatchMode=yes -o ConnectTimeout=20"

// fixed are the variables that are the same for every call.
var fixed = []string{
	"LC_ALL=C",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
	"GIT_SSH_COMMAND=" + defaultSSH,
	"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
	"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
	"GIT_DEFAULT_REF_FORMAT=files", // SetRef and ReadHead know no other
}

// noFiles keeps git from the configuration of the host's user and system.
var noFiles = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null"}

// setting is one line of a configuration.
type setting struct{ key, value string }

// own are the settings that stand above every config file. Most repeat a default: they are here so that it stays
// one, whatever a repository's file says.
var own = []setting{
	// Nothing is executed on the side.
	{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.alternateRefsCommand", ""}, {"core.gitProxy", ""},
	{"credential.helper", ""}, {"gpg.program", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"push.gpgSign", "false"},
	{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"}, {"fetch.recurseSubmodules", "no"},
	// No transport that is a program of its own, such as ext::.
	{"protocol.allow", "never"}, {"protocol.file.allow", "always"}, {"protocol.git.allow", "always"}, {"protocol.ssh.allow", "always"},
	{"protocol.http.allow", "always"}, {"protocol.https.allow", "always"},
	// Files of the user's home that say what is ignored and how it is converted.
	{"core.excludesFile", "/dev/null"}, {"core.attributesFile", "/dev/null"},
	// Content is kept as it is.
	{"core.autocrlf", "false"}, {"core.safecrlf", "false"},
	// Names that only a file system of Windows could mistake for .git are names.
	{"core.protectNTFS", "false"},
	{"core.sparseCheckout", "false"}, {"core.splitIndex", "false"}, {"index.sparse", "false"}, {"core.untrackedCache", "false"},
	// Objects are handed to the disk as they are written, and survive a power cut once the caller has synced a file of its
	// own after the call: one flush of the disk for many objects.
	{"core.fsync", "committed"}, {"core.fsyncMethod", "writeout-only"},
	// A remote that sends nothing is given up.
	{"http.lowSpeedLimit", "1"}, {"http.lowSpeedTime", "60"},
	{"checkout.workers", "0"}, {"color.ui", "false"},
}

// baseEnv is the environment of every call.
func baseEnv() []string {
	env := make([]string, 0, len(passed)+len(fixed))
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, fixed...)
}

// settings puts the own settings and those of one call into variables that git reads above every file.
func settings(more []setting) []string {
	all := append(append([]setting(nil), own...), more...)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
