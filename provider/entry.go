package provider

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// entryKeys are all keys that an entry may have.
var entryKeys = []string{
	"id", "name", "bin", "argv_template", "env_map", "tui_type", "completion_signals",
	"hooks_config_template", "hooks_config_name", "installed_detection", "optional", "keep_alive",
	"long_prompt", "message", "conversation", "resume_argv_template", "conversation_files", "asks_trust",
}

// entry reads one table. If it has added a problem, the returned entry must not be used.
func (p *parser) entry(id string, t table) Entry {
	for key := range t.values {
		if !slices.Contains(entryKeys, key) {
			t.complain(key, "unknown key; an entry has %s", strings.Join(entryKeys, ", "))
		}
	}
	e := Entry{
		ID:                 id,
		Name:               t.line("name", id),
		Bin:                t.bin(),
		ArgvTemplate:       t.list("argv_template", defaultArgv),
		EnvMap:             t.envMap(),
		TUIType:            choice(t, "tui_type", t.text("tui_type", string(defaultTUIType)), LineOriented, FullScreen, RawMode),
		HooksTemplate:      t.text("hooks_config_template", ""),
		HooksName:          t.fileName("hooks_config_name", defaultHooksName),
		InstalledDetection: t.list("installed_detection", defaultDetection),
		Optional:           t.flag("optional"),
		AsksTrust:          t.flag("asks_trust"),
		KeepAlive:          t.list("keep_alive", nil),
		Conversation:       t.conversation(),
		ResumeTemplate:     t.list("resume_argv_template", nil),
		ConversationFiles:  t.list("conversation_files", nil),
		LongPrompt:         choice(t, "long_prompt", t.text("long_prompt", string(PromptRefused)), PromptRefused, PromptStdin),
		Message:            choice(t, "message", t.text("message", string(MessageNone)), MessageNone, MessagePaste),
	}
	if own := t.text("id", id); own != id {
		t.complain("id", "is not the id in the table's name, [providers.%s]", id)
	}
	e.CompletionSignals = slices.Clone(defaultSignals)
	if names := t.list("completion_signals", nil); names != nil {
		e.CompletionSignals = e.CompletionSignals[:0]
		for _, name := range names {
			e.CompletionSignals = append(e.CompletionSignals, choice(t, "completion_signals", name, NativeHook, ExitCode, IdleDetection))
		}
	}
	t.checkArgv("argv_template", e.ArgvTemplate)
	t.checkArgv("resume_argv_template", e.ResumeTemplate)
	t.checkConversation(e)
	t.checkPlaceholders("hooks_config_template", e.HooksTemplate, hookPlaceholders)
	return e
}

// table is the decoded content of one [providers.<id>].
type table struct {
	*parser
	path   string
	values map[string]any
}

// complain adds a problem with a key of the table, or with the table itself when it does not have the key.
func (t table) complain(key, format string, args ...any) {
	path := under(t.path, key)
	line, ok := t.keys[path]
	if !ok {
		line = t.keys[t.path]
	}
	t.complainAt(line, path, format, args...)
}

// text returns a string without NUL, which is possible neither in arguments nor in variables.
func (t table) text(key, absent string) string {
	v, ok := t.values[key]
	if !ok {
		return absent
	}
	s, ok := v.(string)
	switch {
	case !ok:
		t.complain(key, "must be a string")
	case strings.ContainsRune(s, 0):
		t.complain(key, "must not contain a NUL character")
	default:
		return s
	}
	return absent
}

// line returns a text for people, which must be one line.
func (t table) line(key, absent string) string {
	s := t.text(key, absent)
	if strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) {
		t.complain(key, "must be one line of 1 to 200 characters")
	}
	return s
}

func (t table) list(key string, absent []string) []string {
	v, ok := t.values[key]
	if !ok {
		return slices.Clone(absent)
	}
	elements, ok := v.([]any)
	out := make([]string, 0, len(elements))
	for _, el := range elements {
		s, isText := el.(string)
		ok = ok && isText && !strings.ContainsRune(s, 0)
		out = append(out, s)
	}
	if !ok {
		t.complain(key, "must be a list of strings without NUL characters")
	}
	return out
}

func (t table) flag(key string) bool {
	v, given := t.values[key]
	b, ok := v.(bool)
	if given && !ok {
		t.complain(key, "must be true or false")
	}
	return b
}

// bin returns the executable. A relative path is a problem, since the worker, the doctor and a session run in
// different directories.
func (t table) bin() string {
	if _, ok := t.values["bin"]; !ok {
		t.complain("bin", "is missing: the name of the executable")
		return ""
	}
	bin := t.text("bin", "-")
	switch {
	case strings.TrimSpace(bin) == "" || strings.ContainsFunc(bin, unicode.IsControl):
		t.complain("bin", "must be the name of an executable")
	case bin == "." || bin == "..", strings.Contains(bin, "/") && !filepath.IsAbs(bin):
		t.complain("bin", "must be a name to look up on the PATH, or an absolute path")
	}
	return bin
}

func (t table) fileName(key, absent string) string {
	name := t.text(key, absent)
	if name == "" || name == "." || name == ".." || len(name) > 100 || strings.Trim(name, bareKey+".") != "" {
		t.complain(key, "must be a file name of 1 to 100 letters, digits, dots, _ and -")
	}
	return name
}

// envMap returns the env_map; each wrong line of the map is a problem with its line in the file.
func (t table) envMap() EnvMap {
	text := t.text("env_map", "")
	m, wrong := parseEnvMap(text)
	path := under(t.path, "env_map")
	for _, w := range wrong {
		t.complainAt(t.lineOf(path, text, w.line), path, "%s", w.complaint)
	}
	return m
}

func (t table) checkArgv(key string, template []string) {
	for _, el := range template {
		if el == argsPlaceholder {
			continue
		}
		if slices.Contains(placeholders(el), "args") {
			t.complain(key, "{args} must be an element of its own")
			continue
		}
		t.checkPlaceholders(key, el, argvPlaceholders)
	}
}

func (t table) checkPlaceholders(key, text string, known []string) {
	for _, name := range placeholders(text) {
		if !slices.Contains(known, name) {
			t.complain(key, "unknown placeholder {%s}; there are {%s}", name, strings.Join(known, "}, {"))
		}
	}
}

// choice checks an enumeration. Its problem does not repeat the given value: see Problem.
func choice[T ~string](t table, key, given string, allowed ...T) T {
	if v := T(given); slices.Contains(allowed, v) {
		return v
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	t.complain(key, "must be one of %s", strings.Join(names, ", "))
	return allowed[0]
}
