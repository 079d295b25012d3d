package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Markdown returns the reference of every setting, generated from the tags of Config. docs/config.md is a copy
// of it.
func Markdown() string {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, s := range append(sections(), notifySection()) {
		s.markdown(&b)
	}
	b.WriteString(markdownTail)
	return b.String()
}

const markdownHead = `# Configuration

<!-- Generated from the types in config/config.go: go test ./config -update -->

A setting is taken from the first place that has it: a flag, the config file, the environment,
the default. A variable that is empty counts as not set.

**The file beats the environment.** A variable has no effect on a key that ` + "`config.toml`" + ` sets: to decide by
environment, leave the key out of the file. Tokens are the exception, [below](#tokens).

The config file is ` + "`config.toml`" + ` in the data directory; it may be missing. ` + "`SVC_CONFIG`" + ` names another
file, which must then exist. Every key is optional. A key or section that is not listed here, a
value of the wrong type and a value out of range are errors that name the file, the line and the
key; all of them are reported at once, and nothing starts.

Durations are text such as ` + "`\"90s\"`, `\"5m\"` or `\"1h30m\"`" + `. A path may begin with ` + "`~/`" + `; a relative one counts
from the working directory of the process.

## Data directory

The flag's value, else ` + "`SVC_DATA_DIR`" + `, else the platform's place: ` + "`$XDG_DATA_HOME/svc` or `~/.local/share/svc`" + `
on Linux, ` + "`~/Library/Application Support/svc`" + ` on macOS. It is made with mode 0700; a directory that is
already there and that other users may read is closed to them, with a warning. One that they may write to, or that belongs to
another user, is refused.

| in it | of | what |
|---|---|---|
| ` + "`config.toml`" + ` | all | this file |
| ` + "`providers.toml`" + ` | worker, orchestrator | the provider catalog |
| ` + "`token`" + ` | orchestrator, command line | the user token |
| ` + "`worker_token`" + ` | orchestrator | the worker token, good for every host |
| ` + "`host_token`" + ` | worker | the token of its host |
| ` + "`instance_id`" + ` | worker | its identity; not to be copied to another host |
| ` + "`worker_key`" + ` | worker | the key that it signs its connections with; not to be copied either |
| ` + "`signing_key`" + ` | orchestrator | the key from which the tokens of hosts and runs are derived |
| ` + "`providers.last-good.toml`" + ` | worker, orchestrator | the catalog that is in force while the file has a mistake |
| ` + "`svc.db`" + ` | orchestrator | the embedded database |
| ` + "`svc.db.lock`, `worker.lock`" + ` | orchestrator, worker | locked by the one process that may use the database, or the folder; free when that process ends |
| ` + "`relay/`" + ` | orchestrator | copies of run logs, last screens and checkpoints |
| ` + "`mirrors/`, `work/`" + ` | worker | a mirror of each repository; the working copies of runs |
| ` + "`quarantine/`" + ` | worker | records of runs that could not be read, kept for you |
| ` + "`runs/`, `spool/`" + ` | worker | run logs and a folder for each attempt; signals not delivered yet |
| ` + "`worker/`" + ` | ` + "`svc up`" + ` | the folder of its worker, with the worker's files |
`

const markdownTail = `
## Tokens

| variable | beats the file | for |
|---|---|---|
| ` + "`SVC_TOKEN`" + ` | ` + "`token`" + ` | the command line: the user token that it sends |
| ` + "`SVC_TOKEN`" + ` | ` + "`token`" + ` | the orchestrator: the user token that it accepts, 32 hex characters |
| ` + "`SVC_SIGNING_KEY`" + ` | ` + "`signing_key`" + ` | the orchestrator: the key of host and run tokens, 64 hex characters |
| ` + "`SVC_WORKER_TOKEN`" + ` | ` + "`worker_token`" + ` | the orchestrator: the worker token |
| ` + "`SVC_WORKER_TOKEN`" + ` | ` + "`host_token`, else `worker_token`" + ` | a worker: the token that it sends |

The orchestrator makes a missing file at its start: 32 hex characters, mode 0600. A file that is
there is used and never replaced; one that is empty or malformed is an error. One that other users
could read is set to 0600 and a warning is logged. With the variable set, the orchestrator neither reads nor makes
the file; a value that is no token or key is an error that names the variable. None of the variables enters a session.
`

func (s section) markdown(b *strings.Builder) {
	title := "Top level"
	if s.name != "" {
		title = "`[" + s.name + "]`"
	}
	if s.name == "notify" {
		title = "`[[notify]]`"
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if s.doc != "" {
		fmt.Fprintf(b, "%s\n\n", s.doc)
	}
	b.WriteString("| key | type | default | environment | meaning |\n|---|---|---|---|---|\n")
	for _, set := range s.settings {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n",
			set.key, set.typeName(), set.defaultShown(), code(set.env), set.doc)
	}
}

// defaultShown returns the tag shown if there is one, otherwise the literal default.
func (s setting) defaultShown() string {
	if s.shown != "" {
		return s.shown
	}
	switch s.typ {
	case reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return code(s.def)
	}
	return code(`"` + s.def + `"`)
}

func (s setting) typeName() string {
	switch s.typ {
	case reflect.TypeFor[bool]():
		return "boolean"
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return "integer"
	case reflect.TypeFor[time.Duration]():
		if s.kind == "switchable" {
			return "duration or `\"off\"`"
		}
		return "duration"
	case reflect.TypeFor[[2]time.Duration]():
		return "list of two durations"
	case reflect.TypeFor[[]string]():
		return "list of strings"
	}
	if s.kind == "path" {
		return "path"
	}
	return "string"
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
