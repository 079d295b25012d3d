package provider

import "svc"

// noConversation is what an entry says whose tool's conversations have no ids that svc knows.
const noConversation = "none"

// Resumes says whether the tool can go on with a conversation.
func (e Entry) Resumes() bool { return len(e.ResumeTemplate) > 0 }

func (t table) conversation() svc.ConversationSource {
	given := choice(t, "conversation", t.text("conversation", noConversation), noConversation, svc.ConversationMinted, svc.ConversationByHook)
	if given == noConversation {
		return ""
	}
	return given
}

// checkConversation finds templates with which a tool would not get the id that it is asked to use: it would begin another conversation
// than the one that is shown.
func (t table) checkConversation(e Entry) {
	given := hasPlaceholder(e.ArgvTemplate, "conversation")
	switch {
	case e.Conversation == svc.ConversationMinted && !given:
		t.complain("argv_template", "must have {conversation}, because conversation is \"minted\"")
	case e.Conversation != svc.ConversationMinted && given:
		t.complain("argv_template", "has {conversation}, which goes with conversation = \"minted\"")
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
