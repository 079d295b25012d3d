// Package provider is the catalog of agent command-line tools and everything that follows from an
// entry of it: which arguments and environment a session gets, which hook config is written for it,
// whether the tool is installed on this host, and how the catalog changes while the worker runs.
//
// The catalog is a TOML file with one table [providers.<id>] for each tool. An [Entry] is a value
// that never changes: a run that was started with one keeps it, whatever becomes of the file.
// Nothing here knows terminals or the network, so an entry can be tested with a text file.
package provider

import (
	"slices"

	"svc"
)

// TUIType says how a tool uses its terminal, and so how its screen is shown.
type TUIType string

// The three ways of using a terminal. A line-oriented tool's screen is shown as plain text, the
// others keep their colours and attributes.
const (
	LineOriented TUIType = "line_oriented"
	FullScreen   TUIType = "full_screen"
	RawMode      TUIType = "raw_mode"
)

// CompletionSignal names a way by which the end of the work becomes known.
type CompletionSignal string

// The ways. Idle detection is a hint for people and never moves a run.
const (
	NativeHook    CompletionSignal = "native_hook"
	ExitCode      CompletionSignal = "exit_code"
	IdleDetection CompletionSignal = "idle_detection"
)

// Message is how a tool takes messages while it runs.
type Message string

// The ways. A tool that takes pastes knows bracketed ones, and submits what was pasted when Enter is pressed.
const (
	MessageNone  Message = "none"
	MessagePaste Message = "paste"
)

// Turns reports whether the tool's hooks report the end of a turn.
func (e Entry) Turns() bool { return slices.Contains(e.CompletionSignals, NativeHook) }

// Entry is one tool of the catalog. Entries are values: whoever holds one may keep it for ever.
type Entry struct {
	ID   string `json:"id"`
	Name string `json:"name"` // for people; the id when the catalog gives none
	// Bin is a name to look up on the PATH, or an absolute path.
	Bin                string             `json:"bin"`
	ArgvTemplate       []string           `json:"argv_template"`
	EnvMap             EnvMap             `json:"env_map"`
	TUIType            TUIType            `json:"tui_type"`
	CompletionSignals  []CompletionSignal `json:"completion_signals"`
	HooksTemplate      string             `json:"hooks_config_template"` // empty: the tool gets no hook config
	HooksName          string             `json:"hooks_config_name"`     // file name of the rendered hook config
	InstalledDetection []string           `json:"installed_detection"`
	// LongPrompt says how the tool takes a prompt that is too long for an argument.
	LongPrompt LongPrompt `json:"long_prompt,omitempty"`
	// Message says how the tool takes messages while it runs.
	Message Message `json:"message,omitempty"`
	// Conversation says where the id of the tool's conversation comes from; empty: from nowhere.
	Conversation svc.ConversationSource `json:"conversation,omitempty"`
	// ResumeTemplate is ArgvTemplate for a run that goes on with a conversation; empty: the tool cannot.
	ResumeTemplate []string `json:"resume_argv_template,omitempty"`
	// ConversationFiles are patterns of the files in which the tool keeps a conversation; empty: it is not known where.
	ConversationFiles []string `json:"conversation_files,omitempty"`
	// Optional says that the doctor does not report an absent tool as a problem.
	Optional bool `json:"optional"`
	// AsksTrust says that the tool asks a person in each new folder whether it is trusted, and waits until then.
	AsksTrust bool `json:"asks_trust,omitempty"`
	// KeepAlive names programs that may outlive a session of the tool, such as shared daemons; "*" is
	// every program. Others are ended with it.
	KeepAlive []string `json:"keep_alive,omitempty"`
}

// What holds when an entry does not say.
var (
	defaultArgv      = []string{"{args}", "{prompt}"}
	defaultSignals   = []CompletionSignal{ExitCode}
	defaultDetection = []string{"--version"}
)

const (
	defaultTUIType   = LineOriented
	defaultHooksName = "hooks.json"
)

// StandardIDs are the four ids that every orchestrator accepts, whatever its catalog holds.
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

// Hash is the SHA-256 of the catalog's text in hex: what may be started is the same while it is.
func (c *Catalog) Hash() string { return c.hash }

// Path is the file that the catalog was read from.
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

// Entry is the entry with this id. The error is an unknown_provider that names what there is.
func (c *Catalog) Entry(id string) (Entry, error) {
	e, ok := c.entries[id]
	if !ok {
		return Entry{}, svc.Errorf(svc.CodeUnknownProvider, "no provider %q in %s", id, c.path).With("known", c.IDs())
	}
	return e.clone(), nil
}

// clone keeps the catalog's own slices out of other hands.
func (e Entry) clone() Entry {
	e.ArgvTemplate = slices.Clone(e.ArgvTemplate)
	e.ResumeTemplate = slices.Clone(e.ResumeTemplate)
	e.ConversationFiles = slices.Clone(e.ConversationFiles)
	e.EnvMap = slices.Clone(e.EnvMap)
	e.CompletionSignals = slices.Clone(e.CompletionSignals)
	e.InstalledDetection = slices.Clone(e.InstalledDetection)
	return e
}
