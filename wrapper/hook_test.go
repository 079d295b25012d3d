package wrapper

import (
	"io"
	"os"
	"strings"
	"testing"

	"svc"
)

func TestAToolsOwnWordsBecomeSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, input, want string }{
		{"claude", `{"hook_event_name":"Stop","stop_hook_active":false}`, "completed success"},
		{"claude", `{"hook_event_name":"Stop","background_tasks":[]}`, "completed success"},
		{"claude", `{"hook_event_name":"Stop","background_tasks":[{"status":"completed"}]}`, "completed success"},
		{"claude", `{"hook_event_name":"Stop","background_tasks":[{"status":"running"},"b"]}`, "progress waiting for 2 background tasks"},
		{"claude", `{"hook_event_name":"SubagentStop"}`, ""},
		{"claude", `{"hook_event_name":"Notification","notification_type":"permission_prompt","message":"May I run ls?"}`, "asks May I run ls?"},
		{"claude", `{"hook_event_name":"Notification","message":"Claude needs your permission to use Bash"}`, "asks Claude needs your permission to use Bash"},
		{"claude", `{"hook_event_name":"Notification","notification_type":"idle_prompt","message":"Claude is waiting for your input"}`, "waits Claude is waiting for your input"},
		{"claude", `{"hook_event_name":"Notification","notification_type":"agent_needs_input","message":"Which one?"}`, "asks Which one?"},
		{"claude", `{"hook_event_name":"Notification","notification_type":"auth_success","message":"in"}`, ""},
		{"claude", `{"hook_event_name":"UserPromptSubmit","prompt":"do  it\n\tnow"}`, "submitted " + svc.PromptDigest("do it now")},
		{"claude", `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm x","description":"Remove x"}}`, "asks Remove x\nclaude wants to run: rm x"},
		{"claude", `{"hook_event_name":"PermissionRequest","tool_name":"Write","tool_input":{"file_path":"x"}}`, "asks claude asks for a permission to use Write"},
		{"qwen", `{"hook_event_name":"Stop","stop_hook_active":false,"background_tasks":[],"crons":[]}`, "completed success"},
		{"qwen", `{"hook_event_name":"Notification","notification_type":"permission_prompt","message":"Qwen Code needs your permission"}`, "asks Qwen Code needs your permission"},
		{"qwen", `{"hook_event_name":"Notification","notification_type":"auth_success","message":"Successfully authenticated"}`, ""},
		{"copilot", `{"notification_type":"permission_prompt","message":"May I?"}`, "asks May I?"},
		{"copilot", `{"notification_type":"agent_idle","message":"idle"}`, ""}, {"copilot", `7`, ""},
		{"codex", `{"type":"agent-turn-complete","thread-id":"t1","input-messages":["do it"]}`, "completed success"},
		{"codex", `{"type":"agent-turn-complete"}`, "completed success"},
		{"codex", `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":["rm","x"]}}`, "asks codex wants to run: rm x"},
		{"codex", `{"hook_event_name":"PermissionRequest","tool_name":"Edit","tool_input":{}}`, "asks codex asks for a permission to use Edit"},
		{"codex", `{"type":"other"}`, ""},
		{"gemini", `{"hook_event_name":"AfterAgent","prompt_response":"x"}`, "completed success"},
		{"gemini", `{"hook_event_name":"Notification","notification_type":"ToolPermission","message":"Run it?"}`, "asks Run it?"},
		{"gemini", `{"hook_event_name":"BeforeTool"}`, ""},
		{"opencode", `{"type":"session.idle","properties":{"sessionID":"s"}}`, "completed success"},
		{"opencode", `{"type":"session.created","properties":{"info":{"id":"s","parentID":"p"}}}`, ""},
		{"opencode", `{"type":"session.created","properties":{}}`, ""},
		{"opencode", `{"type":"session.error","properties":{"error":{"name":"APIError","data":{"message":"no key"}}}}`, "failed APIError: no key"},
		{"opencode", `{"type":"session.error","properties":{}}`, "failed opencode reported an error without a message"},
		{"opencode", `{"type":"session.error","properties":{"error":{"name":"MessageAbortedError"}}}`, ""},
		{"opencode", `{"type":"permission.asked","properties":{"title":"rm -rf"}}`, "asks rm -rf"},
		{"opencode", `{"type":"permission.asked","properties":{"permission":"edit","patterns":["a.go","b.go"]}}`, "asks opencode asks for a permission: edit a.go, b.go"},
		{"opencode", `{"type":"permission.asked","properties":{"permission":"bash"}}`, "asks opencode asks for a permission to run a command"},
		{"claude", ``, ""}, {"claude", `[]`, ""}, {"codex", `{"type":7}`, ""}, {"gemini", "\xff", ""}, {"opencode", `"x"`, ""},
	} {
		o := newOrchestrator(t)
		std, stderr, _ := inSession(t, o.URL)
		args := []string{"--from", tt.tool}
		if std.Stdin = strings.NewReader(tt.input); tt.tool == "codex" && strings.Contains(tt.input, "type") {
			args, std.Stdin = append(args, tt.input), strings.NewReader("not this")
		}
		if code := Signal(args, std); code != 0 {
			t.Errorf("%s %s: exit code %d", tt.tool, tt.input, code)
		}
		got := ""
		for _, s := range o.signals() {
			got += inWords(s)
		}
		if got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.tool, tt.input, got, tt.want)
		}
		if silent := stderr.Len() == 0; silent != (tt.want != "") {
			t.Errorf("%s %s: stderr %q", tt.tool, tt.input, stderr)
		}
		if out := std.Stdout.(*strings.Builder).String(); out != "" {
			t.Errorf("%s %s: stdout %q, which the tool would read", tt.tool, tt.input, out)
		}
	}
}

func inWords(s svc.Signal) string {
	switch {
	case s.Submitted != "":
		return "submitted " + s.Submitted
	case s.Idle && s.NeedsInput:
		return "waits " + s.Message
	case s.NeedsInput:
		return "asks " + s.Message
	case s.Kind == svc.SignalFailed:
		return "failed " + s.Error
	default:
		return strings.TrimSpace(string(s.Kind) + " " + s.Message + string(s.Result))
	}
}

// The id of a conversation is sent if the orchestrator accepts it and if it is a valid id.
func TestAHookTellsOfItsConversation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fields string
		args   []string
		input  string
		want   string
	}{
		{"conversation", []string{"--from", "claude"}, `{"hook_event_name":"Stop","session_id":"e9470a1d-09b0"}`, "e9470a1d-09b0"},
		{"conversation", []string{"--from", "claude"}, `{"hook_event_name":"Notification","notification_type":"idle_prompt","session_id":"s1"}`, "s1"},
		{"conversation", []string{"--from", "codex", `{"type":"agent-turn-complete","thread-id":"t1"}`}, "", "t1"},
		{"conversation", []string{"--from", "qwen"}, `{"hook_event_name":"Stop","session_id":"q1"}`, "q1"},
		{"conversation", []string{"--from", "gemini"}, `{"hook_event_name":"AfterAgent","session_id":"g1"}`, "g1"},
		{"conversation", []string{"--from", "gemini"}, `{"hook_event_name":"Notification","session_id":"g1","message":"may I?"}`, "g1"},
		{"conversation", []string{"--from", "opencode"}, `{"type":"session.idle","properties":{"sessionID":"ses_1"}}`, "ses_1"},
		{"conversation", []string{"--from", "opencode"}, `{"type":"session.created","properties":{"sessionID":"ses_3","info":{"id":"ses_3"}}}`, "ses_3"},
		{"conversation", []string{"--from", "opencode"}, `{"type":"permission.asked","properties":{"sessionID":"ses_2"}}`, ""}, // the session may be a sub-agent's
		{"conversation", []string{"completed", "--result", "success", "--conversation", "ses_1"}, "", "ses_1"},
		{"conversation", []string{"progress", "--message", "m", "--conversation", "ses_1"}, "", "ses_1"},
		{"", []string{"completed", "--result", "success", "--conversation", "ses_1"}, "", ""},                                 // an older orchestrator would refuse it
		{"conversation", []string{"--from", "claude"}, `{"hook_event_name":"Stop","session_id":"--dangerously-skip-it"}`, ""}, // no id
	} {
		o := newOrchestrator(t)
		std, stderr, _ := inSession(t, o.URL)
		std.Env, std.Stdin = append(std.Env, "SVC_SIGNAL_FIELDS="+tt.fields), strings.NewReader(tt.input)
		if code := Signal(tt.args, std); code != 0 {
			t.Errorf("%v: exit code %d, %s", tt.args, code, stderr)
		}
		if got := o.signals(); len(got) != 1 || got[0].Conversation != tt.want {
			t.Errorf("%v with %q: reported %+v, want the conversation %q", tt.args, tt.fields, got, tt.want)
		}
	}
	o := newOrchestrator(t)
	std, stderr, _ := inSession(t, o.URL)
	std.Env = append(std.Env, "SVC_SIGNAL_FIELDS=conversation")
	if code := Signal([]string{"completed", "--result", "success", "--conversation", "../x"}, std); code != exitHook || !strings.Contains(stderr.String(), "payload.conversation") || len(o.signals()) > 0 {
		t.Errorf("what is no id: exit code %d, %s", code, stderr)
	}
}

func TestTheEndOfCodexsHiddenTitleThreadCompletesNothing(t *testing.T) {
	t.Parallel()
	const prompt = "Fix the title of the page"
	hidden := `{"type":"agent-turn-complete","thread-id":"hidden","input-messages":["Make up a short title for: Fix the title of the page"]}`
	other := `{"type":"agent-turn-complete","thread-id":"other","input-messages":["look around"]}`
	own := `{"type":"agent-turn-complete","thread-id":"own","input-messages":["Fix the title of the page"]}`
	for name, order := range map[string][]string{
		"before the conversation": {hidden, own}, "after it": {own, hidden}, "and a helper's": {hidden, own, other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchestrator(t)
			std, _, a := inSession(t, o.URL)
			if err := a.WritePrompt(prompt + "\n"); err != nil {
				t.Fatal(err)
			}
			for _, input := range order {
				before := len(o.signals())
				Signal([]string{"--from", "codex", input}, std)
				if got, want := len(o.signals())-before, map[bool]int{true: 1}[input == own]; got != want {
					t.Errorf("%s reported %d signals, want %d", input, got, want)
				}
			}
		})
	}
}

func TestIdleAfterAnErrorIsNoSuccess(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, _, _ := inSession(t, o.URL)
	for _, event := range []string{"session.error", "session.idle", "session.idle"} {
		std.Stdin = strings.NewReader(`{"type":"` + event + `"}`)
		Signal([]string{"--from", "opencode"}, std)
	}
	if got := kinds(o.signals()); len(got) != 1 || got[0] != "failed" {
		t.Errorf("reported %v", got)
	}
}

func TestAHookOutsideASessionSaysSoAndIsFine(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	std := IO{Stdin: strings.NewReader(`{"hook_event_name":"Stop"}`), Stdout: io.Discard, Stderr: &stderr}
	if code := Signal([]string{"--from", "claude"}, std); code != 0 || !strings.Contains(stderr.String(), "not inside a session") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

func TestAToolThatNeverWritesDoesNotHoldItsHook(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	defer func() { _ = w.Close() }()
	std, stderr, _ := inSession(t, "")
	std.Stdin = r
	if code := Signal([]string{"--from", "claude"}, std); code != 0 || !strings.Contains(stderr.String(), "wrote nothing") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestLongAndBrokenTextIsMadeFit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("ü", 5000), "a\x00b\xffc", "  x  "} {
		got := tidy(text)
		s := svc.Signal{Kind: svc.SignalFailed, Source: svc.FromHook, Error: got}
		if err := s.Validate(); err != nil || len(got) > maxText || got != strings.TrimSpace(got) {
			t.Errorf("%.20q became %.20q (%d bytes): %v", text, got, len(got), err)
		}
	}
}

func FuzzHookInput(f *testing.F) {
	f.Add("claude", `{"hook_event_name":"Stop","background_tasks":[{}]}`)
	f.Add("codex", `{"type":"agent-turn-complete","thread-id":"t","input-messages":["title"]}`)
	f.Add("opencode", `{"type":"session.error"}`)
	f.Fuzz(func(t *testing.T, tool, input string) {
		translate, known := translators[tool]
		if !known {
			t.Skip("the fuzzer chose a tool that svc does not know")
		}
		std, _, _ := inSession(t, "")
		sess, err := sessionOf(std)
		if err != nil {
			t.Fatal(err)
		}
		sig, why := translate(sess, []byte(input))
		if (sig == nil) == (why == "") {
			t.Fatalf("signal %v, why %q", sig, why)
		}
		if sig != nil {
			if err := sess.check(*sig); err != nil {
				t.Fatalf("the orchestrator would refuse %+v: %v", sig, err)
			}
		}
	})
}
