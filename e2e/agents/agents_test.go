package agents

import (
	"fmt"
	"os"
	"testing"
)

// agent has the properties of a tool that the tests need and that its preset does not have.
type agent struct {
	pin      pin
	protocol string // of its requests to the gateway
	model    string
	args     map[string][]string // more arguments of a run, by provider
	hook     bool                // a hook reports its completion
	failure  string              // the expected text in the table for a run whose model API failed
	argument bool                // it accepts its prompt only as an argument
	composes bool                // it normalises the prompt to NFC (composed accents)
	asks     bool                // a hook reports when it waits for a person
	why      string              // if asks is false: the reason
	answer   []string            // the keys with which a person allows a command
	trust    []string            // the keys with which a person trusts a folder
	store    string              // the folder of its conversations, below the home; empty: conversations cannot be continued
	lost     string              // the expected text in the table for a run whose conversation is missing in the store
	home     func(*site)         // sets up the home as a person does once; nil: nothing
	once     string              // describes home, for the table
}

var known = map[string]agent{
	"claude": {
		protocol: "messages", model: "claude-sonnet-4-5", hook: true, asks: true, answer: []string{"Enter"}, trust: []string{"Down", "Enter"},
		failure: "`failed`, exit code 1", home: claudeHome, store: ".claude/projects", lost: "`failed`, `conversation_gone`",
		once: "its first-run dialogs were answered",
	},
	"codex": {
		protocol: "responses", model: "gpt-5", hook: true, asks: true, answer: []string{"y"}, trust: []string{"Enter"},
		failure: "`failed`, exit code 1", home: codexHome, store: ".codex/sessions", lost: "`failed`, `conversation_gone`",
		once: "the folder was trusted and the hook reviewed",
	},
	"gemini": {
		protocol: "gemini", model: "gemini-2.5-pro", hook: true, asks: true, answer: []string{"Enter"}, trust: []string{"Enter"},
		failure: "`failed`, exit code 1", home: geminiHome, store: ".gemini/tmp", lost: "`failed`, `conversation_gone`",
		once: "the folder was trusted",
	},
	"goose": {
		protocol: "chat", model: "stand-in", failure: "`exited`, exit code 0", why: "no hooks", composes: true,
	},
	"opencode": {
		protocol: "chat", model: "svc/stand-in", hook: true, asks: true, answer: []string{"Enter"},
		failure: "`failed`, hook `failed` (APIError: the gateway refuses, as the prompt wants it)", home: opencodeHome, store: ".local/share/opencode", lost: "`failed`, exit code 1",
		once: "its configuration says that it must ask",
	},
	"qwen": {
		protocol: "chat", model: "stand-in", hook: true, asks: true, answer: []string{"Enter"},
		failure: "`failed`, exit code 1", once: "nothing", store: ".qwen/projects", lost: "`failed`, `conversation_gone`",
	},
	"copilot": {
		protocol: "chat", model: "stand-in", hook: true, asks: true, answer: []string{"Enter"}, trust: []string{"Enter"},
		failure: "`failed`, exit code 1", home: copilotHome, once: "the folder was trusted",
	},
	"kimi": {
		argument: true, protocol: "chat", model: "stand-in", failure: "`failed`, exit code 1", why: "no interactive entry, and its hooks stand in its own configuration only",
	},
	"pi": {
		protocol: "chat", model: "svc/stand-in", hook: true, why: "it asks nobody",
		failure: "`failed`, hook `failed` (400: {\"code\":\"refused\",\"message\":\"the gateway refuses, as the prompt wants it\",\"type\":\"invalid_request_error\"})",
	},
}

// claudeHome sets up a home in which the first-run dialogs of the interactive claude were answered.
func claudeHome(s *site) {
	s.lab.Write(s.lab.Path(".claude.json"), encoded(object{
		"hasCompletedOnboarding": true, "theme": "dark",
		"projects": object{s.work: object{"hasTrustDialogAccepted": true}},
	}))
}

// codexHome sets up the home of a person who trusts the folder and has reviewed the preset's hook.
// codex stores the hook's location and hash. A preset must not write that record, so only this test does.
func codexHome(s *site) {
	s.lab.Write(s.lab.Path(".codex", "config.toml"), fmt.Sprintf(`[projects.%q]
trust_level = "trusted"

[hooks.state."/<session-flags>/config.toml:permission_request:0:0"]
trusted_hash = "sha256:fd599551b132783ac2f922f0726fd3b11b1a1c2c22520119c8d21b89fb225c5a"
`, s.work))
}

// geminiHome sets up a home in which the folder is trusted.
func geminiHome(s *site) {
	s.lab.Write(s.lab.Path(".gemini", "trustedFolders.json"), encoded(object{s.work: "TRUST_FOLDER"}))
}

// opencodeHome sets up a home in which opencode asks before some commands, and in which its plugin
// package is recorded as installed. Without that record opencode tries to download it at every start,
// for more than a minute.
func opencodeHome(s *site) {
	s.lab.Write(s.lab.Path(".config", "opencode", "opencode.json"), encoded(object{"permission": object{"bash": object{"*": "allow", "*approved*": "ask"}}}))
	s.lab.Write(s.lab.Path(".config", "opencode", "package-lock.json"), encoded(object{
		"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": s.agent.pin.release}}},
	}))
	s.lab.Write(s.lab.Path(".config", "opencode", "node_modules", ".keep"), "")
}

// copilotHome sets up a home in which the folder is trusted.
func copilotHome(s *site) {
	s.lab.Write(s.lab.Path(".copilot", "config.json"), encoded(object{"trusted_folders": []any{s.work}, "trustedFolders": []any{s.work}}))
}

// TestRealAgents is not parallel: the test of each tool changes the PATH, and several tools at once
// would overload the machine.
func TestRealAgents(t *testing.T) {
	if os.Getenv(toolsEnv) == "" {
		t.Skip(toolsEnv + " is not set: make test-agents installs the real tools and runs this")
	}
	if err := onlyLoopback(); err != nil {
		t.Fatal(err)
	}
	seen := results{}
	for _, p := range pins(t) {
		a, ok := known[p.tool]
		if !ok {
			t.Fatalf("testdata/tools.txt has %s, which is missing in the table of known tools", p.tool)
		}
		a.pin = p
		t.Run(p.tool, func(t *testing.T) {
			s := newSite(t, a)
			for _, c := range cases {
				if c.when != nil && !c.when() {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					s.t = t
					seen.keep(p.tool, c.name, "**not as expected**")
					if got := c.run(s); !t.Failed() {
						seen.keep(p.tool, c.name, got)
					}
				})
				s.t = t
			}
		})
	}
	report(t, seen)
}
