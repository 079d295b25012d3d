package wrapper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc"
	"svc/rundir"
)

// The translators for the hooks of real tools. A hook's JSON has many more fields than are read here.

func unknown(tool, event string) string {
	return fmt.Sprintf("the event %.60q of %s has no information about the run", event, tool)
}

func notJSON(tool string, err error) string {
	return fmt.Sprintf("%s passed no JSON object to its hook: %v", tool, err)
}

// fromClaudeLike reads the hooks UserPromptSubmit, PermissionRequest, Stop and Notification of claude, and of qwen,
// which has the same hooks. Stop means that the agent's turn is over; tasks that it started in the background
// may still run. Each hook names the conversation.
func fromClaudeLike(tool string) translator {
	return func(_ *session, input []byte) (*svc.Signal, string) {
		var e struct {
			Event     string `json:"hook_event_name"`
			Type      string `json:"notification_type"`
			Message   string `json:"message"`
			Session   string `json:"session_id"`
			Prompt    string `json:"prompt"`
			Tool      string `json:"tool_name"`
			ToolInput struct {
				Command     any    `json:"command"`
				Description string `json:"description"`
			} `json:"tool_input"`
			Background []any `json:"background_tasks"`
		}
		if err := json.Unmarshal(input, &e); err != nil {
			return nil, notJSON(tool, err)
		}
		switch {
		case e.Event == "Stop":
			if n := stillRunning(e.Background); n > 0 {
				return withConversation(e.Session, &svc.Signal{Kind: svc.SignalProgress, Message: fmt.Sprintf("waiting for %d background tasks", n)}), ""
			}
			return withConversation(e.Session, completed()), ""
		case e.Event == "UserPromptSubmit":
			return withConversation(e.Session, submitted(e.Prompt)), ""
		case e.Event == "PermissionRequest":
			question := wantsToRun(e.ToolInput.Description, tool, commandLine(e.ToolInput.Command))
			return withConversation(e.Session, asks(question, tool+" asks for a permission to use "+e.Tool)), ""
		case e.Event == "Notification" && e.Type == "idle_prompt":
			return withConversation(e.Session, waits(e.Message, tool+" waits for a prompt")), ""
		case e.Event == "Notification" && slices.Contains([]string{"permission_prompt", "elicitation_dialog", "agent_needs_input"}, e.Type),
			// older versions send no type
			e.Event == "Notification" && e.Type == "" && strings.Contains(e.Message, "permission"):
			return withConversation(e.Session, asks(e.Message, tool+" asks for a permission")), ""
		default:
			return nil, unknown(tool, strings.TrimSpace(e.Event+" "+e.Type))
		}
	}
}

// fromCopilot reads the hook notification.
func fromCopilot(_ *session, input []byte) (*svc.Signal, string) {
	var e struct {
		Type    string `json:"notification_type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(input, &e); err != nil {
		return nil, notJSON("copilot", err)
	}
	if e.Type == "permission_prompt" || e.Type == "elicitation_dialog" {
		return asks(e.Message, "copilot asks for a permission"), ""
	}
	return nil, unknown("copilot", "notification "+e.Type)
}

// stillRunning counts the tasks whose status is not that of an ended one.
func stillRunning(tasks []any) (n int) {
	for _, task := range tasks {
		fields, _ := task.(map[string]any)
		switch status, _ := fields["status"].(string); status {
		case "completed", "failed", "killed", "cancelled", "stopped":
		default:
			n++
		}
	}
	return n
}

// fromCodex reads the argument of its notify program and the hook PermissionRequest.
func fromCodex(s *session, input []byte) (*svc.Signal, string) {
	var e struct {
		Type      string   `json:"type"`
		Thread    string   `json:"thread-id"`
		Inputs    []string `json:"input-messages"`
		Event     string   `json:"hook_event_name"`
		Tool      string   `json:"tool_name"`
		ToolInput struct {
			Command     any    `json:"command"`
			Description string `json:"description"`
		} `json:"tool_input"`
	}
	if err := json.Unmarshal(input, &e); err != nil {
		return nil, notJSON("codex", err)
	}
	switch {
	case e.Type == "agent-turn-complete":
		if !s.isConversation(e.Thread, e.Inputs) {
			return nil, "the thread " + e.Thread + " is not the run's conversation"
		}
		return withConversation(e.Thread, completed()), ""
	case e.Event == "PermissionRequest":
		question := wantsToRun(e.ToolInput.Description, "codex", commandLine(e.ToolInput.Command))
		return asks(question, "codex asks for a permission to use "+e.Tool), ""
	default:
		return nil, unknown("codex", e.Type+e.Event)
	}
}

// isConversation reports whether a thread is the run's. codex also reports the end of a hidden thread that
// makes up a title. The first thread with the run's prompt is the run's, permanently. If the prompt is unknown
// or was changed, the first thread is accepted unless its input mentions a title.
func (s *session) isConversation(thread string, inputs []string) bool {
	if thread == "" {
		return true // versions without thread ids have no hidden threads
	}
	if known := s.attempt.Recall(rundir.CodexThread); known != "" {
		return known == thread
	}
	prompt := s.prompt()
	given := false
	title := false
	for _, input := range inputs {
		given = given || prompt != "" && strings.TrimSpace(input) == prompt
		title = title || strings.Contains(strings.ToLower(input), "title")
	}
	if title && !given {
		return false
	}
	_ = s.attempt.Remember(rundir.CodexThread, thread)
	return true
}

// wantsToRun appends to a tool's question the command that it is about, if there is one.
func wantsToRun(question, tool, command string) string {
	if command == "" {
		return question
	}
	return strings.TrimSpace(question + "\n" + tool + " wants to run: " + command)
}

func commandLine(command any) string {
	switch command := command.(type) {
	case string:
		return command
	case []any:
		var words []string
		for _, word := range command {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, " ")
	default:
		return ""
	}
}

// fromGemini reads the hooks BeforeAgent, AfterAgent and Notification. Each names the conversation.
func fromGemini(_ *session, input []byte) (*svc.Signal, string) {
	var e struct {
		Event   string `json:"hook_event_name"`
		Type    string `json:"notification_type"`
		Message string `json:"message"`
		Session string `json:"session_id"`
		Prompt  string `json:"prompt"`
		Details struct {
			Command string `json:"command"`
		} `json:"details"`
	}
	if err := json.Unmarshal(input, &e); err != nil {
		return nil, notJSON("gemini", err)
	}
	switch e.Event {
	case "BeforeAgent":
		return withConversation(e.Session, submitted(e.Prompt)), ""
	case "AfterAgent":
		return withConversation(e.Session, completed()), ""
	case "Notification":
		return withConversation(e.Session, asks(wantsToRun(e.Message, "gemini", e.Details.Command), "gemini asks for a permission")), ""
	default:
		return nil, unknown("gemini", e.Event)
	}
}

// fromOpencode reads an event of the plugin unchanged: session.created, session.idle, session.error,
// permission.asked. An interruption by a person ends a turn, not the run. The session that is created or
// becomes idle is the run's conversation, because the plugin does not pass on sessions of sub-agents. A
// permission may be requested by a sub-agent.
func fromOpencode(_ *session, input []byte) (*svc.Signal, string) {
	var e struct {
		Type       string `json:"type"`
		Properties struct {
			Session string `json:"sessionID"`
			Info    struct {
				ID     string `json:"id"`
				Parent string `json:"parentID"` // empty: it is not a sub-agent's session
			} `json:"info"`
			Title      string   `json:"title"` // of older versions
			Permission string   `json:"permission"`
			Patterns   []string `json:"patterns"`
			Error      struct {
				Name string `json:"name"`
				Data struct {
					Message string `json:"message"`
				} `json:"data"`
			} `json:"error"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(input, &e); err != nil {
		return nil, notJSON("opencode", err)
	}
	switch e.Type {
	case "session.created":
		if e.Properties.Info.Parent != "" || !svc.IsConversation(e.Properties.Info.ID) {
			return nil, "the session is not the run's conversation"
		}
		return withConversation(e.Properties.Info.ID, &svc.Signal{Kind: svc.SignalProgress, Message: "begins a conversation"}), ""
	case "session.idle":
		return withConversation(e.Properties.Session, completed()), ""
	case "session.error":
		failed := e.Properties.Error
		if failed.Name == "MessageAbortedError" {
			return nil, "a person interrupted the turn"
		}
		text := strings.Trim(failed.Name+": "+failed.Data.Message, ": ")
		if text == "" {
			text = "opencode reported an error without a message"
		}
		return &svc.Signal{Kind: svc.SignalFailed, Error: tidy(text)}, ""
	case "permission.asked", "permission.updated":
		p := e.Properties
		if p.Permission == "bash" {
			return asks(wantsToRun(p.Title, "opencode", strings.Join(p.Patterns, "; ")), "opencode asks for a permission to run a command"), ""
		}
		return asks(p.Title, strings.TrimSpace("opencode asks for a permission: "+p.Permission+" "+strings.Join(p.Patterns, ", "))), ""
	default:
		return nil, unknown("opencode", e.Type)
	}
}
