package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// EnvVar is one line of an env_map: a variable of the tool and the source of its value.
type EnvVar struct {
	Name string
	// Source is the variable whose value is used; empty when the line has a literal.
	Source string
	// Literal is a fixed value, written NAME="value". It is a default: if the user has set the variable, the
	// user's value is kept.
	Literal string
}

// EnvMap has the variables that an entry sets for its tool. In text form, in the catalog and in JSON, it has
// one line NAME=SOURCE for each.
type EnvMap []EnvVar

// workerSecrets never enter a session, neither under their own name nor under another.
var workerSecrets = []string{"SVC_TOKEN", "SVC_WORKER_TOKEN", "SVC_SIGNING_KEY", "SVC_DATABASE"}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// wrongLine is a complaint about one line, counted from 0. It contains nothing after the equals sign, where
// people sometimes write keys by mistake.
type wrongLine struct {
	line      int
	complaint string
}

// parseEnvMap parses the lines; blank lines and lines that begin with # are skipped.
func parseEnvMap(text string) (m EnvMap, wrong []wrongLine) {
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v, complaint := parseEnvVar(line)
		if complaint == "" && seen[v.Name] {
			complaint = v.Name + " is set twice"
		}
		if complaint != "" {
			wrong = append(wrong, wrongLine{i, complaint})
			continue
		}
		seen[v.Name] = true
		m = append(m, v)
	}
	return m, wrong
}

func parseEnvVar(line string) (v EnvVar, complaint string) {
	name, source, ok := strings.Cut(line, "=")
	name, source = strings.TrimSpace(name), strings.TrimSpace(source)
	switch {
	case !ok || !variable.MatchString(name):
		return v, "must have lines of the form NAME=SOURCE"
	case strings.HasPrefix(name, "SVC_"):
		return v, name + ": names that begin with SVC_ belong to svc"
	case len(source) >= 2 && source[0] == '"' && source[len(source)-1] == '"':
		return EnvVar{Name: name, Literal: source[1 : len(source)-1]}, ""
	case !variable.MatchString(source):
		return v, name + `: what follows = must be the name of a variable, or a fixed value in double quotes`
	case slices.Contains(workerSecrets, source):
		return v, fmt.Sprintf("%s: %s never enters a session", name, source)
	}
	return EnvVar{Name: name, Source: source}, ""
}

// String returns the line in the catalog's syntax.
func (v EnvVar) String() string {
	if v.Source == "" {
		return v.Name + `="` + v.Literal + `"`
	}
	return v.Name + "=" + v.Source
}

// MarshalText returns the lines.
func (m EnvMap) MarshalText() ([]byte, error) {
	var b strings.Builder
	for _, v := range m {
		b.WriteString(v.String() + "\n")
	}
	return []byte(b.String()), nil
}

// UnmarshalText parses the lines, as strictly as the catalog does.
func (m *EnvMap) UnmarshalText(text []byte) error {
	parsed, wrong := parseEnvMap(string(text))
	if len(wrong) > 0 {
		return fmt.Errorf("env_map line %d: %s", wrong[0].line+1, wrong[0].complaint)
	}
	*m = parsed
	return nil
}
