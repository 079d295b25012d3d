package provider

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"svc"
)

// noConversation is the value of an entry whose tool has no conversation ids that svc can use.
const noConversation = "none"

// Resumes reports whether the tool can resume a conversation.
func (e Entry) Resumes() bool { return len(e.ResumeTemplate) > 0 }

func (t table) conversation() svc.ConversationSource {
	given := choice(t, "conversation", t.text("conversation", noConversation), noConversation, svc.ConversationMinted, svc.ConversationByHook)
	if given == noConversation {
		return ""
	}
	return given
}

// checkConversation finds templates with which a tool would not get the id that it has to use: it would then
// begin another conversation than the one that is shown.
func (t table) checkConversation(e Entry) {
	given := hasPlaceholder(e.ArgvTemplate, "conversation")
	switch {
	case e.Conversation == svc.ConversationMinted && !given:
		t.complain("argv_template", "must have {conversation}, because conversation is \"minted\"")
	case e.Conversation != svc.ConversationMinted && given:
		t.complain("argv_template", "has {conversation}, which goes with conversation = \"minted\"")
	}
	if len(e.ConversationFiles) > 0 && !e.Resumes() {
		t.complain("conversation_files", "needs resume_argv_template")
	}
	for _, pattern := range e.ConversationFiles {
		t.checkConversationFile(pattern)
	}
	if !e.Resumes() {
		return
	}
	switch {
	case e.Conversation == "":
		t.complain("resume_argv_template", "needs conversation = \"minted\" or \"hook\"")
	case !hasPlaceholder(e.ResumeTemplate, "conversation"):
		t.complain("resume_argv_template", "must have {conversation}")
	case hasPlaceholder(e.ResumeTemplate, "prompt") != e.promptInArgv():
		t.complain("resume_argv_template", "must take {prompt} as argv_template does: both have it, or neither")
	}
}

// conversationRoot matches the beginning of a pattern: the home, a variable with a folder, or the root.
var conversationRoot = regexp.MustCompile(`^(~|\$[A-Za-z_][A-Za-z0-9_]*)?/`)

// checkConversationFile finds patterns that match the files of several conversations, or files outside their
// folder.
func (t table) checkConversationFile(pattern string) {
	segments := strings.Split(pattern, "/")
	name := segments[len(segments)-1]
	t.checkPlaceholders("conversation_files", pattern, []string{"conversation"})
	file, places := svc.ConversationFile(pattern, "id")
	_, inName := svc.ConversationFile(name, "id")
	switch {
	case !conversationRoot.MatchString(pattern):
		t.complain("conversation_files", "must begin with /, ~/ or $NAME/")
	case places != 1 || inName != 1 || strings.Contains(file, "{conversation"):
		t.complain("conversation_files", "must have {conversation} in the name of the file, once; {conversation:8} is its first 8 characters, the fewest")
	case slices.ContainsFunc(segments[1:], func(s string) bool { return s == "" || s == "." || s == ".." }):
		t.complain("conversation_files", "must not have empty parts, . or ..")
	case strings.ContainsAny(pattern, `?[\\`):
		t.complain("conversation_files", "has * as its only wildcard")
	}
}

// ConversationPatterns returns the entry's ConversationFiles for the environment of a session: as absolute
// paths that still contain {conversation}. Patterns whose variable is not set, or is not an absolute path, are
// left out.
func (e Entry) ConversationPatterns(environ []string) (patterns []string) {
	env := split(environ)
	for _, pattern := range e.ConversationFiles {
		root, rest, _ := strings.Cut(pattern, "/")
		if root == "~" {
			root = "$HOME"
		}
		if name, variable := strings.CutPrefix(root, "$"); variable {
			if root = env[name]; !filepath.IsAbs(root) {
				continue
			}
		}
		patterns = append(patterns, filepath.Clean(root+"/"+rest))
	}
	return patterns
}
