package git

import (
	"os"
	"strconv"
)

// inheritedEnv are the names of the variables of this process that git, and the programs with which it reaches a
// remote, inherit.
var inheritedEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK", "KRB5CCNAME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

// defaultSSH is the ssh command for remotes, unless the host's user has configured another one.
const defaultSSH = "ssh -o BatchMode=yes -o ConnectTimeout=20"

// fixedEnv are the variables that are the same for every call.
var fixedEnv = []string{
	"LC_ALL=C",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
	"GIT_SSH_COMMAND=" + defaultSSH,
	"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
	"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
	"GIT_DEFAULT_REF_FORMAT=files", // SetRef and ReadHead support no other
}

// noUserConfig prevents git from reading the configuration of the host's user and system.
var noUserConfig = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null"}

// setting is one entry of a git configuration.
type setting struct{ key, value string }

// ownSettings are the settings that override every config file. Most repeat git's default, so that a repository's
// file cannot change it.
var ownSettings = []setting{
	// Git starts no other program, such as a hook.
	{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.alternateRefsCommand", ""}, {"core.gitProxy", ""},
	{"credential.helper", ""}, {"gpg.program", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"push.gpgSign", "false"},
	{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"}, {"fetch.recurseSubmodules", "no"},
	// All other transports are forbidden, such as ext::, which can start any program.
	{"protocol.allow", "never"}, {"protocol.file.allow", "always"}, {"protocol.git.allow", "always"}, {"protocol.ssh.allow", "always"},
	{"protocol.http.allow", "always"}, {"protocol.https.allow", "always"},
	// Files in the user's home with rules for ignored files and conversions are not read.
	{"core.excludesFile", "/dev/null"}, {"core.attributesFile", "/dev/null"},
	// Content is stored unchanged.
	{"core.autocrlf", "false"}, {"core.safecrlf", "false"},
	// Names that only a file system of Windows could take for .git are allowed.
	{"core.protectNTFS", "false"},
	{"core.sparseCheckout", "false"}, {"core.splitIndex", "false"}, {"index.sparse", "false"}, {"core.untrackedCache", "false"},
	// Objects are written to the disk without a flush of the disk's cache. They survive a power cut once the caller
	// has synced a file of its own after the call: one flush for many objects.
	{"core.fsync", "committed"}, {"core.fsyncMethod", "writeout-only"},
	// A transfer over HTTP is aborted if the remote sends nothing for 60 seconds.
	{"http.lowSpeedLimit", "1"}, {"http.lowSpeedTime", "60"},
	{"checkout.workers", "0"}, {"color.ui", "false"},
}

// baseEnv returns the environment of every call.
func baseEnv() []string {
	env := make([]string, 0, len(inheritedEnv)+len(fixedEnv))
	for _, name := range inheritedEnv {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, fixedEnv...)
}

// settings returns the own settings and those of one call as environment variables, which override every config file.
func settings(more []setting) []string {
	all := append(append([]setting(nil), ownSettings...), more...)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
