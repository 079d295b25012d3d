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

// braces finds placeholders and, so that they can be left alone, the ${VARIABLES} of shells.
var braces = regexp.MustCompile(`\$?\{[A-Za-z_][A-Za-z0-9_]*\}`)

// placeholders lists the names in braces of a template.
func placeholders(template string) (names []string) {
	for _, found := range braces.FindAllString(template, -1) {
		if found[0] == '{' {
			names = append(names, found[1:len(found)-1])
		}
	}
	return names
}

// expand replaces placeholders in a single pass: what a value brings in is not expanded again.
func expand(template string, value func(name string) string) string {
	return braces.ReplaceAllStringFunc(template, func(found string) string {
		if found[0] != '{' {
			return found
		}
		return value(found[1 : len(found)-1])
	})
}

// Values are what the placeholders of an argv_template stand for.
type Values struct {
	Args        []string // the user's, each an argument of its own
	Prompt      string
	PromptFile  string        // path of the prompt as a file
	APIKey      config.Secret // the gateway's
	Model       string
	HooksConfig string // path of the rendered hook config
	// Conversation is the id of the tool's conversation; empty: it makes up its own. Resume: it goes on with it.
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

// Argv is the list of arguments for the entry's bin, without bin itself. It may hold the API key:
// log ShownArgv instead.
//
// {args} becomes as many arguments as the user gave, also none. Any other element with an empty
// placeholder is left out, and with it the flag directly before it in the template: an element that
// begins with "-", other than "--".
func (e Entry) Argv(v Values) []string {
	template := e.ArgvTemplate
	if v.Resume {
		template = e.ResumeTemplate
	}
	argv := make([]string, 0, len(template)+len(v.Args))
	flag := false // whether the last of argv is a flag that belongs to the next element
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

// ShownArgv is Argv for logs and people: a mark stands where the API key would be.
func (e Entry) ShownArgv(v Values) []string {
	v.APIKey = config.Secret(v.APIKey.String())
	return e.Argv(v)
}
