package provider

import (
	"fmt"
	"slices"

	"svc"
)

// LongPrompt is how a tool accepts a prompt that is too long for an argument.
type LongPrompt string

// The ways. A template with {prompt_file} instead of {prompt} needs none of them.
const (
	PromptRefused LongPrompt = "refuse" // the tool cannot accept it
	// PromptStdin passes the prompt on standard input and leaves {prompt} out. If the template has no {prompt},
	// every prompt is passed that way, so that it does not appear in lists of processes.
	PromptStdin LongPrompt = "stdin"
)

// PromptLimit returns the length in bytes of the longest prompt that the entry accepts; 0: unlimited.
func (e Entry) PromptLimit() int {
	if e.LongPrompt == PromptStdin || !e.promptInArgv() {
		return 0
	}
	return svc.MaxArgument
}

func (e Entry) promptInArgv() bool { return hasPlaceholder(e.ArgvTemplate, "prompt") }

func hasPlaceholder(template []string, name string) bool {
	return slices.ContainsFunc(template, func(el string) bool { return slices.Contains(placeholders(el), name) })
}

// OnStdin reports whether standard input is the prompt and not the terminal.
func (e Entry) OnStdin(prompt string) bool {
	return e.LongPrompt == PromptStdin && (len(prompt) > svc.MaxArgument || !e.promptInArgv())
}

// CheckLengths returns an error for the first argument or variable that is too long for a system call.
func (e Entry) CheckLengths(prompt string, argv, env []string) error {
	if limit := e.PromptLimit(); limit > 0 && len(prompt) > limit {
		return fmt.Errorf("the prompt has %d bytes, and %s takes it as an argument, which may have %d: "+
			"a tool that reads it from standard input has long_prompt = \"stdin\" in its entry, one that takes a file {prompt_file}", len(prompt), e.ID, limit)
	}
	for i, a := range argv {
		if len(a) > svc.MaxArgument {
			return fmt.Errorf("argument %d of %s has %d bytes; the system takes %d at most", i, e.ID, len(a), svc.MaxArgument)
		}
	}
	for _, v := range env {
		if len(v) > svc.MaxArgument {
			return fmt.Errorf("the variable %.60q has %d bytes with its name; the system takes %d at most", v[:slices.Index([]byte(v), '=')+1], len(v), svc.MaxArgument)
		}
	}
	return nil
}
