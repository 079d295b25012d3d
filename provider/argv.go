package provider

import (
	"regexp"
	"strings"

	"svc/config"
)

// The placeholders of each template.
var (
	argvPlaceholders = []string{"args", "prompt", "prompt_file", "api_key", "model", "hooks_config", "conversation"}
	hookPlaceholders = []string{"svc_api_url", "run_id"}
)

const argsPlaceholder = "{args}"

// braces matches placeholders and also the ${VARIABLES} of shells, so that those can be left unchanged.
var braces = regexp.MustCompile(`\$?\{[A-Za-z_][A-Za-z0-9_]*\}`)

// placeholders returns the names in braces of a template.
func placeholders(template string) (names []string) {
	for _, found := range braces.FindAllString(template, -1) {
		if found[0] == '{' {
			names = append(names, found[1:len(found)-1])
		}
	}
	return names
}

// expand replaces placeholders in a single pass: the inserted values are not expanded again.
func expand(template string, value func(name string) string) string {
	return braces.ReplaceAllStringFunc(template, func(found string) string {
		if found[0] != '{' {
			return found
		}
		return value(found[1 : len(found)-1])
	})
}

// Values are the values of the placeholders in an argv_template.
type Values struct {
	Args        []string // the user's arguments
	Prompt      string
	PromptFile  string        // path of a file with the prompt
	APIKey      config.Secret // the gateway's key
	Model       string
	HooksConfig string // path of the rendered hook config
	// Conversation is the id of the tool's conversation; empty: the tool chooses one. Resume is set if the tool
	// resumes it.
	Conversation string
	Resume       bool
}

func (v Values) of(name string) string {
	switch name {
	case "prompt":
		return v.Prompt
	case "prompt_file":
		return v.PromptFile
	case "api_key":
		return string(v.APIKey)
	case "model":
		return v.Model
	case "hooks_config":
		return v.HooksConfig
	case "conversation":
		return v.Conversation
	}
	return ""
}

// Argv returns the arguments for the entry's bin, without bin itself. They may contain the API key: log
// ShownArgv instead.
//
// {args} becomes all arguments that the user gave, also none. Any other element with an empty placeholder is
// left out, together with a flag directly before it in the template. A flag is an element that begins with "-",
// other than "--".
func (e Entry) Argv(v Values) []string {
	template := e.ArgvTemplate
	if v.Resume {
		template = e.ResumeTemplate
	}
	argv := make([]string, 0, len(template)+len(v.Args))
	flag := false // whether the last element of argv is a flag for the next element
	for _, el := range template {
		if el == argsPlaceholder {
			argv, flag = append(argv, v.Args...), false
			continue
		}
		if v.lacks(el) {
			if flag {
				argv = argv[:len(argv)-1]
			}
			flag = false
			continue
		}
		argv = append(argv, expand(el, v.of))
		flag = strings.HasPrefix(el, "-") && el != "--"
	}
	return argv
}

func (v Values) lacks(element string) bool {
	for _, name := range placeholders(element) {
		if v.of(name) == "" {
			return true
		}
	}
	return false
}

// ShownArgv returns Argv for logs and people, with a placeholder instead of the API key.
func (e Entry) ShownArgv(v Values) []string {
	v.APIKey = config.Secret(v.APIKey.String())
	return e.Argv(v)
}
