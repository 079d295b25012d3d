package svc

import "strings"

// interactiveSuffix is the suffix of the id of a tool's interactive catalog entry.
const interactiveSuffix = "-tui"

// ToolOf returns the tool of a provider id. A tool can have two entries in a catalog: one that works through a prompt
// and exits, and an interactive one, whose id has the suffix -tui. They are two modes of one tool.
func ToolOf(provider string) string { return strings.TrimSuffix(provider, interactiveSuffix) }

// InteractiveID returns the id of a tool's interactive entry.
func InteractiveID(tool string) string { return ToolOf(tool) + interactiveSuffix }

// RunDefaults are the values that a run gets when the request leaves them out; an empty field sets nothing.
type RunDefaults struct {
	Provider string
	Model    string
	Cwd      string
}

// Fill sets the fields that the caller left empty. The default model belongs to the default tool, so it is not used
// with another tool.
func (d RunDefaults) Fill(n *NewRun) {
	if n.Provider == "" {
		n.Provider = d.Provider
	}
	if n.Model == "" && (d.Provider == "" || ToolOf(d.Provider) == ToolOf(n.Provider)) {
		n.Model = d.Model
	}
	if n.Cwd == "" {
		n.Cwd = d.Cwd
	}
}
