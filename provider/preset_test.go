package provider_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/provider"
)

// hookFile is the part of a hook config that the presets have in common.
type hookFile struct {
	Hooks map[string][]struct {
		Hooks []struct{ Type, Command string }
	}
}

func TestThePresetsAreTheHeadlessAndTheInteractiveEntryOfEachTool(t *testing.T) {
	t.Parallel()
	if got, want := provider.PresetNames(), []string{"claude", "codex", "copilot", "gemini", "goose", "kimi", "opencode", "pi", "qwen"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, name := range provider.PresetNames() {
		entries, err := provider.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{name, name + "-tui"}
		if name == "kimi" { // its interactive mode accepts no first prompt
			want = want[:1]
		}
		if got := idsOf(entries); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		// If the tool supports it, the prompt is not an argument: then it may be long, and other users of the
		// host cannot see it.
		if limit := entries[0].PromptLimit(); (limit == 0) != (name != "kimi") {
			t.Errorf("%s takes prompts of %d bytes", name, limit)
		}
		if entries[0].TUIType != provider.LineOriented {
			t.Errorf("%s without a screen is %s", name, entries[0].TUIType)
		}
		for _, e := range entries {
			path, err := e.RenderHooks(t.TempDir(), "http://127.0.0.1:1", svc.NewRunID())
			if err != nil {
				t.Fatal(err)
			}
			// These tools are known to wait in a dialog; without a terminal no tool asks.
			if asks := slices.Contains([]string{"claude-tui", "codex-tui", "copilot-tui", "gemini-tui"}, e.ID); e.AsksTrust != asks {
				t.Errorf("%s asks for trust: %v", e.ID, e.AsksTrust)
			}
			// codex gets its hook in its arguments, the others in a file.
			hooks := slices.Contains(e.CompletionSignals, provider.NativeHook)
			if inArgs := name == "codex"; hooks != (path != "" || inArgs) {
				t.Errorf("%s: hooks %v, hook config %q", e.ID, hooks, path)
			}
		}
	}
	if _, err := provider.Preset("../claude"); svc.CodeOf(err) != svc.CodeNotFound || !strings.Contains(err.Error(), "claude, codex") {
		t.Errorf("an unknown preset: %v", err)
	}
}

func idsOf(entries []provider.Entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// The commands are known to work with the real tools.
func TestThePresetsGiveTheCommandsThatWereSeenToWork(t *testing.T) {
	t.Parallel()
	v := provider.Values{Prompt: "P", PromptFile: "/p", Model: "M", HooksConfig: "/h", Args: []string{"-x"}, Conversation: "C"}
	for id, want := range map[string][]string{
		"claude":     {"-p", "--session-id", "C", "--model", "M", "--settings", "/h", "--allowedTools", "Bash,Edit,Write", "-x"},
		"claude-tui": {"--model", "M", "--settings", "/h", "-x", "--", "P"},
		"gemini":     {"--yolo", "--skip-trust", "--session-id", "C", "--model", "M", "-x"},
		"gemini-tui": {"--model", "M", "-x", "-i", "P"},
		"goose":      {"run", "--model", "M", "-x", "-i", "/p"},
		"goose-tui":  {"run", "--model", "M", "-x", "-s", "-t", "P"},
		"qwen":       {"--yolo", "--session-id", "C", "--model", "M", "-x"},
		"qwen-tui":   {"--model", "M", "-x", "-i", "P"},
		"pi":         {"--print", "--extension", "/h", "--model", "M", "-x"},
		"pi-tui":     {"--extension", "/h", "--model", "M", "-x", "--", "P"},
	} {
		if got := presetEntry(t, id).Argv(v); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// A conversation is resumed with the same sandbox, permissions, hooks and gateway: the arguments of a resumed
// run differ only in the conversation.
func TestAResumedRunOfAPresetHasTheFlagsOfTheFirst(t *testing.T) {
	dir := tool(t, "codex", "opencode") // not parallel: see below
	added := map[string][2]string{      // the arguments added to the first run and to the resumed one
		"claude": {"--session-id C", "--resume C"}, "claude-tui": {"", "--resume C"}, "codex": {"", "resume C"},
		"qwen":   {"--session-id C", "--resume C"},
		"gemini": {"--session-id C", "--resume C"}, "opencode": {"", "--session C"},
	}
	for _, name := range provider.PresetNames() {
		entries, err := provider.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			want, resumes := added[e.ID]
			if e.Resumes() != resumes {
				t.Errorf("%s resumes: %v, want %v", e.ID, e.Resumes(), resumes)
			}
			if !resumes {
				continue
			}
			var got [2]string
			for i, resume := range []bool{false, true} {
				argv := e.Argv(provider.Values{Prompt: "P", Model: "M", HooksConfig: "/h", Args: []string{"-x"}, Conversation: "C", Resume: resume})
				if e.Bin == "sh" {
					cmd := exec.CommandContext(t.Context(), "/bin/sh", argv...)
					cmd.Env = e.Environ(provider.Session{Base: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Gateway: provider.Gateway{URL: "http://g", APIKey: "k"}})
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v: %s", err, out)
					}
					argv = strings.Split(strings.TrimSpace(string(out)), "\n")
				}
				line := " " + strings.Join(argv, " ") + " "
				if !strings.Contains(line, " "+want[i]) {
					t.Errorf("%s: %q has no %q", e.ID, line, want[i])
				}
				got[i] = strings.Join(strings.Fields(strings.Replace(line, " "+want[i]+" ", " ", 1)), " ")
			}
			if got[0] != got[1] || got[0] == "" {
				t.Errorf("%s: the first run has %q, the resumed one %q", e.ID, got[0], got[1])
			}
		}
	}
}

func presetEntry(t *testing.T, id string) provider.Entry {
	t.Helper()
	entries, err := provider.Preset(strings.TrimSuffix(id, "-tui"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(id, "-tui") {
		return entries[1]
	}
	return entries[0]
}

// tool puts stand-ins for other programs into a new folder; each prints its arguments, one per line.
func tool(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCodexGetsTheGatewayAsAModelProvider(t *testing.T) {
	dir := tool(t, "codex") // not parallel: a process started meanwhile could keep the script open for writing
	for id, start := range map[string][]string{"codex": {"exec", "--skip-git-repo-check", "-s", "workspace-write"}, "codex-tui": {"--no-daemon"}} {
		// A snapshot of the shell would write the gateway's key and the run's token to a file in the user's home.
		start = append(start, "-c", "features.shell_snapshot=false", "-c", `notify=["svc","exec","signal","--from","codex"]`)
		if id == "codex-tui" { // a person reviews the hook: no argument marks it as trusted
			start = append(start, "-c", `hooks.PermissionRequest=[{hooks=[{type="command",command="svc exec signal --from codex"}]}]`)
		}
		e := presetEntry(t, id)
		run := func(g provider.Gateway) []string {
			env := e.Environ(provider.Session{Base: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Gateway: g})
			cmd := exec.CommandContext(t.Context(), "/bin/sh", e.Argv(provider.Values{Prompt: "two words", Model: "M"})...)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return strings.Split(strings.TrimSpace(string(out)), "\n")
		}
		end := []string{"--model", "M", "--", "two words"}
		if id == "codex" {
			end = []string{"--model", "M", "-"} // it reads the prompt on standard input
		}
		if got, want := run(provider.Gateway{}), slices.Concat(start, end); !slices.Equal(got, want) {
			t.Errorf("%s without a gateway: got %q, want %q", id, got, want)
		}
		gateway := []string{
			"-c", "model_provider=svc", "-c", "model_providers.svc.name=svc", "-c", "model_providers.svc.wire_api=responses",
			"-c", "model_providers.svc.env_key=SVC_GATEWAY_API_KEY", "-c", "model_providers.svc.base_url=http://g/v1",
		}
		if got, want := run(provider.Gateway{URL: "http://g", APIKey: "k"}), slices.Concat(start, gateway, end); !slices.Equal(got, want) {
			t.Errorf("%s with a gateway: got %q, want %q", id, got, want)
		}
	}
}

// opencode gets plugin and gateway as one configuration, and its prompt on standard input, because it would put
// an argument with spaces into quotes.
func TestOpencodeGetsItsPluginAndTheGatewayAsConfiguration(t *testing.T) {
	dir := tool(t, "opencode") // not parallel: see above
	script := "#!/bin/sh\nprintf '%s\\n' \"$OPENCODE_CONFIG_CONTENT\" \"$*\"\n[ -t 0 ] || cat\n"
	if err := os.WriteFile(filepath.Join(dir, "opencode"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(id, model string, more ...string) (config map[string]any, arguments, input string) {
		t.Helper()
		e := presetEntry(t, id)
		cmd := exec.CommandContext(t.Context(), "/bin/sh", e.Argv(provider.Values{Prompt: "P Q", Model: model, Args: []string{"-x"}})...)
		base := append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, more...)
		cmd.Env = e.Environ(provider.Session{Base: base, HooksConfig: "/h/svc.js"})
		if e.OnStdin("P Q") {
			cmd.Stdin = strings.NewReader(`two "words"`)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		lines := strings.SplitN(string(out), "\n-", 2)
		if id == "opencode" {
			lines = strings.SplitN(string(out), "\nrun ", 2)
			lines[1] = "run " + lines[1]
		} else {
			lines[1] = "-" + lines[1]
		}
		if err := json.Unmarshal([]byte(lines[0]), &config); err != nil {
			t.Fatalf("%s: %v in %s", id, err, lines[0])
		}
		arguments, input, _ = strings.Cut(lines[1], "\n")
		return config, arguments, input
	}
	plugin := []any{"{env:SVC_HOOKS_CONFIG}"}

	config, arguments, input := run("opencode", "svc/vendor/m-1")
	if arguments != "run --model svc/vendor/m-1 -x" || input != `two "words"` || !reflect.DeepEqual(config["plugin"], plugin) {
		t.Errorf("%v, %q, %q", config, arguments, input)
	}
	gateway, _ := config["provider"].(map[string]any)["svc"].(map[string]any)
	if want := map[string]any{"vendor/m-1": map[string]any{}}; !reflect.DeepEqual(gateway["models"], want) {
		t.Errorf("models %v, want %v", gateway["models"], want)
	}
	want := map[string]any{"baseURL": "{env:SVC_GATEWAY_URL_V1}", "apiKey": "{env:SVC_GATEWAY_API_KEY}"}
	if !reflect.DeepEqual(gateway["options"], want) {
		t.Errorf("options %v, want %v", gateway["options"], want)
	}

	if config, arguments, _ := run("opencode-tui", "mine/m"); arguments != "--model mine/m -x --prompt P Q" || len(config) != 1 {
		t.Errorf("a model of the user's own: %v, %q", config, arguments)
	}
	if config, _, _ := run("opencode", "svc/m", `OPENCODE_CONFIG_CONTENT={"theme":"x"}`); !reflect.DeepEqual(config, map[string]any{"theme": "x"}) {
		t.Errorf("the user's own configuration became %v", config)
	}
}

// kimi gets a model that it does not know from variables, and copilot gets its plugin from the folder of the
// hook config.
func TestAShellHandsKimiItsModelAndCopilotItsPlugin(t *testing.T) {
	dir := t.TempDir() // not parallel: see above
	script := "#!/bin/sh\nprintf '%s\\n' \"$KIMI_MODEL_NAME $KIMI_MODEL_BASE_URL $KIMI_MODEL_API_KEY $COPILOT_PROVIDER_BASE_URL\" \"$*\"\n"
	for _, name := range []string{"kimi", "copilot"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(id string, g provider.Gateway) string {
		e := presetEntry(t, id)
		cmd := exec.CommandContext(t.Context(), "/bin/sh", e.Argv(provider.Values{Prompt: "two words", Model: "M", Args: []string{"-x"}})...)
		cmd.Env = e.Environ(provider.Session{Base: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Gateway: g, HooksConfig: "/h/plugin.json"})
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", id, err, out)
		}
		return string(out)
	}
	gateway := provider.Gateway{URL: "http://g", APIKey: "k"}
	for _, tt := range []struct {
		id   string
		g    provider.Gateway
		want string
	}{
		{"kimi", gateway, "M http://g/v1 k \n-x -p two words\n"},
		{"kimi", provider.Gateway{}, "   \n--model M -x -p two words\n"},
		{"copilot", gateway, "   http://g/v1\n--plugin-dir /h --allow-all-tools --no-ask-user --model M -x\n"},
		{"copilot-tui", gateway, "   http://g/v1\n--plugin-dir /h --model M -x -i two words\n"},
	} {
		if got := run(tt.id, tt.g); got != tt.want {
			t.Errorf("%s with %v: got %q, want %q", tt.id, tt.g.URL, got, tt.want)
		}
	}
}

func TestTheHooksOfPresetsAreReadByTheirOwnTranslator(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][]string{
		"claude": {"Stop"}, "claude-tui": {"Notification", "PermissionRequest", "Stop", "UserPromptSubmit"}, "gemini": {"AfterAgent"}, "gemini-tui": {"AfterAgent", "BeforeAgent", "Notification"},
		"qwen": {"Stop"}, "qwen-tui": {"Notification", "Stop"},
	} {
		path, err := presetEntry(t, id).RenderHooks(t.TempDir(), "http://127.0.0.1:1", svc.NewRunID())
		if err != nil {
			t.Fatal(err)
		}
		var file hookFile
		if err := json.Unmarshal([]byte(read(t, path)), &file); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := slices.Sorted(maps.Keys(file.Hooks)); !slices.Equal(got, want) {
			t.Errorf("%s has hooks %v, want %v", id, got, want)
		}
		for event, groups := range file.Hooks {
			hook := groups[0].Hooks[0]
			if hook.Type != "command" || hook.Command != "svc exec signal --from "+strings.TrimSuffix(id, "-tui") {
				t.Errorf("%s: %s runs %+v", id, event, hook)
			}
		}
	}
}

func TestAPresetIsAddedBehindWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "providers.toml")
	mine := "# my own\n[providers.mine] # with a comment\nbin = 'tool'"
	if err := os.WriteFile(path, []byte(mine), 0o640); err != nil {
		t.Fatal(err)
	}
	ids, err := provider.Add(path, "claude")
	if err != nil || !slices.Equal(ids, []string{"claude", "claude-tui"}) {
		t.Fatalf("%v, %v", ids, err)
	}
	if !strings.HasPrefix(read(t, path), mine+"\n\n# Claude Code") {
		t.Errorf("the file now begins %q", read(t, path)[:100])
	}
	c, err := provider.Load(path)
	if err != nil || !slices.Equal(c.IDs(), []string{"mine", "claude", "claude-tui"}) {
		t.Fatalf("%v", err)
	}
	if got, want := entry(t, c, "claude"), presetEntry(t, "claude"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAddChangesNothingWhenItCannotAdd(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"the id is taken":             "[providers.goose-tui]\nbin = 'mine'\n",
		"the file is broken":          "[providers.x]\nbinary = 'y'\n",
		"the tables are written flat": "providers = { x = { bin = 'y' } }\n",
	} {
		path := filepath.Join(t.TempDir(), "providers.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ids, err := provider.Add(path, "goose"); err == nil || ids != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if got := read(t, path); got != text {
			t.Errorf("%s: the file is now %q", name, got)
		}
	}
}

func TestAddBeginsAMissingFileAndKeepsALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink("real.toml", link); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Add(filepath.Join(dir, "real.toml"), "codex"); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Add(link, "gemini"); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != "real.toml" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	c, err := provider.Load(link)
	if err != nil || !c.Has("provider_a") || !c.Has("codex") || !c.Has("gemini-tui") {
		t.Errorf("%v, %v", c, err)
	}
}

func TestPresetsThatAreAddedAtTheSameTimeAreAllThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "providers.toml")
	var all sync.WaitGroup
	for _, name := range provider.PresetNames() {
		all.Go(func() {
			if _, err := provider.Add(path, name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := provider.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range provider.PresetNames() {
		entries, err := provider.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range idsOf(entries) {
			if !c.Has(id) {
				t.Errorf("%s was lost", id)
			}
		}
	}
}
