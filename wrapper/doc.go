// Package wrapper is what runs inside a session: "svc exec run", which starts the provider's tool and
// tells how it ended, "svc exec signal", which hooks call, and "svc exec sink", which writes the log.
//
// # The terminal
//
// The provider is a process group of its own in the foreground of the terminal, as a shell would
// have it: Ctrl-C reaches the provider and not the wrapper, and a change of the window's size reaches
// it from the kernel. What is sent to the wrapper itself (HUP, INT, QUIT, TERM) is passed on to that
// group. There is no shell to return to, so the terminal has no suspend key, and a provider that
// suspends itself is continued at once; one that was stopped with SIGSTOP stays stopped until it is
// continued.
//
// # Who delivers
//
// Every signal is in the spool before anything else happens to it. Then:
//
//   - started and the word about the end are left to the worker while one lives, because only it can
//     hold back the end until the log before it was relayed. It watches the spool.
//   - Without a worker, started is posted at once. The end waits ten seconds for a worker to come back,
//     which is as long as a worker would wait for the log, and is then posted together with what
//     else of the attempt is in the spool.
//   - What a hook reports is posted at once by "svc exec signal", worker or not.
//
// Whatever could not be posted stays in the spool for the worker. Delivery is at least once.
package wrapper

import (
	"io"
	"strings"
)

// The exit codes of the wrapper itself, as shells have them.
const (
	exitUsage      = 2
	exitHook       = 1   // of "svc exec signal": some tools take 2 as an order to block their agent
	exitCannotRun  = 126 // found, but it cannot be executed
	exitNotFound   = 127 // not there
	exitSignalBase = 128
)

// IO is what a command has of its process.
type IO struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    []string // NAME=value; the last one of a name counts
}

// env is the variable's value; empty when it is not set.
func (s IO) env(name string) string { return lookup(s.Env, name) }

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
