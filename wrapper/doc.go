// Package wrapper runs inside a session: "svc exec run", which starts the provider's tool and reports how it
// ended, "svc exec signal", which hooks call, and "svc exec sink", which writes the log.
//
// # The terminal
//
// The provider is a process group of its own in the foreground of the terminal, as if a shell had started it:
// Ctrl-C reaches the provider and not the wrapper, and the kernel reports a change of the window's size to it.
// Signals that are sent to the wrapper itself (HUP, INT, QUIT, TERM) are passed on to that group. There is no
// shell to return to, so the terminal has no suspend key, and a provider that suspends itself is continued at
// once. A provider that was stopped with SIGSTOP stays stopped until it is continued.
//
// # Who delivers
//
// Every signal is written to the spool first. Then:
//
//   - started and the report of the end are left to the worker while one lives, because only it can
//     hold back the end until the log was relayed. It watches the spool.
//   - Without a worker, started is posted at once. The end waits ten seconds for a worker to come back,
//     which is as long as a worker would wait for the log, and is then posted together with the other
//     signals of the attempt in the spool.
//   - "svc exec signal" posts the reports of a hook at once, with or without a worker.
//
// A signal that could not be posted stays in the spool for the worker. Delivery is at least once.
package wrapper

import (
	"io"
	"strings"
)

// The exit codes of the wrapper itself, as shells use them.
const (
	exitUsage      = 2
	exitHook       = 1   // of "svc exec signal"; not 2, which makes some tools block their agent
	exitCannotRun  = 126 // found, but it cannot be executed
	exitNotFound   = 127 // not found
	exitSignalBase = 128
)

// IO is the input, output and environment of a command.
type IO struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    []string // NAME=value; the last value of a name is used
}

// env returns a variable's value; empty when it is not set.
func (s IO) env(name string) string { return lookup(s.Env, name) }

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
