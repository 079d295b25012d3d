package svc

import "strings"

// interactiveSuffix ends the id of a tool's interactive entry.
const interactiveSuffix = "-tui"

// ToolOf is the tool that a provider id stands for. A tool can have two entries in a catalog: one that works through a prompt and
// ends, and an interactive one, whose id is the first's with -tui. They are two modes of one choice.
func ToolOf(provider string) string { return strings.TrimSuffix(provider, interactiveSuffix) }

// InteractiveID is the id of a tool's interactive entry.
func InteractiveID(tool string) string { return ToolOf(tool) + interactiveSuffix }

// RunDefaults is what a run gets when its caller does not say; empty fields decide nothing.
type RunDefaults struct {
	Provider string
	Model    string
	Cwd      string
}

// Fill completes what the caller left open. A model belongs to its tool: it is not given to another one.
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
