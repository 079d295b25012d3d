package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// stream writes an answer: as one JSON document, or as server-sent events.
type stream struct{ w http.ResponseWriter }

func (s stream) json(status int, v any) {
	s.w.Header().Set("Content-Type", "application/json")
	s.w.WriteHeader(status)
	_ = json.NewEncoder(s.w).Encode(v) // the tool may have closed the connection
}

// event writes one server-sent event. With an empty name it omits the event's name.
func (s stream) event(name string, v any) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	text, isText := v.(string)
	if !isText {
		encoded, err := json.Marshal(v)
		if err != nil {
			panic(err) // only JSON's own types are sent
		}
		text = string(encoded)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", text)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func fields(v any) object {
	o, _ := v.(object)
	return o
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// texts returns the texts in a message's content: the content itself if it is a string, otherwise the
// member "text" of each part. Results of tools have no such member.
func texts(content any) []string {
	if s := text(content); s != "" {
		return []string{s}
	}
	var out []string
	for _, part := range list(content) {
		if s := text(fields(part)["text"]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func modelList() object {
	var models []any
	for _, id := range []string{"stand-in", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"} {
		models = append(models, object{"id": id, "object": "model", "created": 0, "owned_by": "gateway", "type": "model", "display_name": id})
	}
	return object{"object": "list", "data": models, "has_more": false}
}

// isShell reports whether a tool is the one with which an agent executes shell commands.
func isShell(t toolSpec) bool {
	name := strings.ToLower(t.name)
	known := []string{"bash", "shell", "exec_command", "run_shell_command", "shell_command", "developer__shell"}
	return slices.Contains(known, name) && commandField(t.schema) != ""
}

func commandField(schema object) string {
	for _, name := range []string{"command", "cmd"} {
		if _, ok := fields(schema["properties"])[name]; ok {
			return name
		}
	}
	return ""
}

// shellCall returns arguments that match the schema of an agent's shell. If the prompt contains
// "outside the sandbox", they request to run the command so, for which codex must ask a person.
func shellCall(schema object, command, prompt string) object {
	properties, name := fields(schema["properties"]), commandField(schema)
	args := object{name: command}
	if text(fields(properties[name])["type"]) == "array" {
		args[name] = []any{"bash", "-c", command}
	}
	for _, required := range list(schema["required"]) {
		if _, set := args[text(required)]; !set {
			args[text(required)] = smallestValue(fields(properties[text(required)]))
		}
	}
	if _, ok := properties["sandbox_permissions"]; ok && strings.Contains(prompt, "outside the sandbox") {
		args["sandbox_permissions"], args["justification"] = "require_escalated", "The prompt says so."
	}
	return args
}

// smallestValue returns the simplest value that a JSON schema allows.
func smallestValue(schema object) any {
	if options := list(schema["enum"]); len(options) > 0 {
		return options[0]
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if options := list(schema[choice]); len(options) > 0 {
			return smallestValue(fields(options[0]))
		}
	}
	switch kind := strings.ToLower(text(schema["type"])); {
	case kind == "object", kind == "" && schema["properties"] != nil:
		out := object{}
		for _, name := range list(schema["required"]) {
			out[text(name)] = smallestValue(fields(fields(schema["properties"])[text(name)]))
		}
		return out
	case kind == "array":
		return []any{}
	case kind == "boolean":
		return false
	case kind == "integer", kind == "number":
		return 1
	default:
		return "stand-in"
	}
}
