// Package provider is the catalog of agent command-line tools. From an entry it derives the arguments, the
// environment and the hook config of a session, and whether the tool is installed on this host. It also reloads
// the catalog when it changes while the worker runs.
//
// The catalog is a TOML file with one table [providers.<id>] for each tool. An [Entry] is a value that never
// changes: a run keeps the entry that it was started with, even if the file changes. The package uses neither
// terminals nor the network, so an entry can be tested with a text file.
package provider

import (
	"slices"

	"svc"
)

// TUIType is how a tool uses its terminal, and so how its screen is shown.
type TUIType string

// The uses of a terminal. The screen of a line-oriented tool is shown as plain text, the others with their
// colours and attributes.
const (
	LineOriented TUIType = "line_oriented"
	FullScreen   TUIType = "full_screen"
	RawMode      TUIType = "raw_mode"
)

// CompletionSignal is a way to detect the end of the work.
type CompletionSignal string

// The ways to detect it. Idle detection is a hint for people and never changes a run's status.
const (
	NativeHook    CompletionSignal = "native_hook"
	ExitCode      CompletionSignal = "exit_code"
	IdleDetection CompletionSignal = "idle_detection"
)

// Message is how a tool accepts messages while it runs.
type Message string

// The ways to send a message. A tool with MessagePaste supports bracketed paste, and submits a pasted text on
// Enter.
const (
	MessageNone  Message = "none"
	MessagePaste Message = "paste"
)

// Turns reports whether the tool's hooks report the end of a turn.
func (e Entry) Turns() bool { return slices.Contains(e.CompletionSignals, NativeHook) }

// Entry is one tool of the catalog. An entry is a value and may be kept permanently.
type Entry struct {
	ID   string `json:"id"`
	Name string `json:"name"` // for people; default: the id
	// Bin is a name that is looked up on the PATH, or an absolute path.
	Bin                string             `json:"bin"`
	ArgvTemplate       []string           `json:"argv_template"`
	EnvMap             EnvMap             `json:"env_map"`
	TUIType            TUIType            `json:"tui_type"`
	CompletionSignals  []CompletionSignal `json:"completion_signals"`
	HooksTemplate      string             `json:"hooks_config_template"` // empty: the tool gets no hook config
	HooksName          string             `json:"hooks_config_name"`     // file name of the rendered hook config
	InstalledDetection []string           `json:"installed_detection"`
	// LongPrompt is how the tool accepts a prompt that is too long for an argument.
	LongPrompt LongPrompt `json:"long_prompt,omitempty"`
	// Message is how the tool accepts messages while it runs.
	Message Message `json:"message,omitempty"`
	// Conversation is where the id of the tool's conversation comes from; empty: the id is unknown.
	Conversation svc.ConversationSource `json:"conversation,omitempty"`
	// ResumeTemplate is the ArgvTemplate for a run that resumes a conversation; empty: the tool cannot resume
	// one.
	ResumeTemplate []string `json:"resume_argv_template,omitempty"`
	// ConversationFiles are patterns of the files in which the tool keeps a conversation; empty: unknown.
	ConversationFiles []string `json:"conversation_files,omitempty"`
	// Optional means that the doctor does not report a missing tool as a problem.
	Optional bool `json:"optional"`
	// AsksTrust means that the tool asks a person in each new folder whether it is trusted, and waits for the
	// answer.
	AsksTrust bool `json:"asks_trust,omitempty"`
	// KeepAlive are the names of programs that may outlive a session of the tool, such as shared daemons; "*"
	// means every program. Other programs are ended with the session.
	KeepAlive []string `json:"keep_alive,omitempty"`
}

// The defaults for keys that an entry does not have.
var (
	defaultArgv      = []string{"{args}", "{prompt}"}
	defaultSignals   = []CompletionSignal{ExitCode}
	defaultDetection = []string{"--version"}
)

const (
	defaultTUIType   = LineOriented
	defaultHooksName = "hooks.json"
)

// StandardIDs returns the four ids that every orchestrator accepts, whether its catalog has them or not.
func StandardIDs() []string {
	return []string{"provider_a", "provider_b", "provider_c", "provider_d"}
}

// Catalog is a checked set of entries. It never changes.
type Catalog struct {
	path    string
	ids     []string
	entries map[string]Entry
	hash    string
}

// Hash returns the SHA-256 of the catalog's text in hex. Catalogs with the same hash have the same entries.
func (c *Catalog) Hash() string { return c.hash }

// Path returns the path of the file that the catalog was read from.
func (c *Catalog) Path() string { return c.path }

// IDs lists the entries in the order of the file.
func (c *Catalog) IDs() []string { return slices.Clone(c.ids) }

// Entries lists the entries in the order of the file.
func (c *Catalog) Entries() []Entry {
	out := make([]Entry, len(c.ids))
	for i, id := range c.ids {
		out[i] = c.entries[id].clone()
	}
	return out
}

// Has reports whether there is an entry with this id.
func (c *Catalog) Has(id string) bool {
	_, ok := c.entries[id]
	return ok
}

// Entry returns the entry with this id. The error is an unknown_provider that names the known ids.
func (c *Catalog) Entry(id string) (Entry, error) {
	e, ok := c.entries[id]
	if !ok {
		return Entry{}, svc.Errorf(svc.CodeUnknownProvider, "no provider %q in %s", id, c.path).With("known", c.IDs())
	}
	return e.clone(), nil
}

// clone returns a copy that does not share the catalog's slices.
func (e Entry) clone() Entry {
	e.ArgvTemplate = slices.Clone(e.ArgvTemplate)
	e.ResumeTemplate = slices.Clone(e.ResumeTemplate)
	e.ConversationFiles = slices.Clone(e.ConversationFiles)
	e.EnvMap = slices.Clone(e.EnvMap)
	e.CompletionSignals = slices.Clone(e.CompletionSignals)
	e.InstalledDetection = slices.Clone(e.InstalledDetection)
	e.KeepAlive = slices.Clone(e.KeepAlive)
	return e
}
