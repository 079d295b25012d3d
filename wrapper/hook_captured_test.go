package wrapper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
)

// The inputs were captured from the hooks of real tools; see testdata/hooks/README.md.
func TestWhatRealToolsGaveToTheirHooksBecomesSignals(t *testing.T) {
	t.Parallel()
	const prompt = "Please do it outside the sandbox. {{run: echo yes > /home/user/approved.txt}}"
	const wants = " wants to run: echo yes > /home/user/approved.txt"
	cases := map[string]string{
		"claude-stop":               "completed success",
		"claude-permission":         "asks Claude needs your permission",
		"claude-permission-request": "asks claude" + wants,
		"claude-idle":               "waits Claude is waiting for your input",
		"claude-prompt-submit":      "submitted " + svc.PromptDigest("first line\n\tsecond line\nthird \"line\" ;"),
		"codex-turn-complete":       "completed success",
		"codex-tui-turn-complete":   "completed success",
		"codex-title-thread":        "", // a hidden thread of codex, which ends while the run is working
		"codex-permission":          "asks The prompt says so.\ncodex" + wants,
		"gemini-before-agent":       "submitted " + svc.PromptDigest("first line second line third \"line\" ;"),
		"gemini-after-agent":        "completed success",
		"gemini-permission":         "asks Tool Confirm Shell Command requires execution\ngemini" + wants,
		"opencode-idle":             "completed success",
		"opencode-error":            "failed APIError: the gateway refuses, as the prompt wants it",
		"opencode-permission":       "asks opencode" + wants,
	}
	files, err := filepath.Glob("testdata/hooks/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(cases) {
		t.Errorf("there are %d files, want %d", len(files), len(cases))
	}
	for name, want := range cases {
		input, err := os.ReadFile(filepath.Join("testdata/hooks", name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		o := newOrchestrator(t)
		std, _, attempt := inSession(t, o.URL)
		if err := attempt.WritePrompt(prompt); err != nil {
			t.Fatal(err)
		}
		tool, _, _ := strings.Cut(name, "-")
		args := []string{"--from", tool}
		if notify := []string{"codex-turn-complete", "codex-tui-turn-complete", "codex-title-thread"}; slices.Contains(notify, name) {
			args = append(args, string(input)) // codex passes the input to its notify program as an argument
		} else {
			std.Stdin = strings.NewReader(string(input))
		}
		if code := Signal(args, std); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
		got := ""
		for _, s := range o.signals() {
			got += inWords(s)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
