package provider_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"svc"
	"svc/provider"
)

// parse parses a catalog that must be valid.
func parse(t *testing.T, text string) *provider.Catalog {
	t.Helper()
	c, err := provider.Parse("providers.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// entry returns the entry with this id.
func entry(t *testing.T, c *provider.Catalog, id string) provider.Entry {
	t.Helper()
	e, err := c.Entry(id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEveryFieldOfAnEntryIsRead(t *testing.T) {
	t.Parallel()
	c := parse(t, `
[providers.my-tool_1]
id = "my-tool_1"
name = "My tool"
bin = "/opt/tool"
argv_template = ["run", "{args}", "--model={model}", "{prompt}", "{hooks_config}", "{api_key}", '{"tui":"default"}', "${HOME}"]
env_map = """
A=SVC_GATEWAY_URL
# a comment

  B = SVC_HOOKS_CONFIG
C="fixed = value"
"""
tui_type = "raw_mode"
completion_signals = ["idle_detection", "native_hook", "exit_code"]
hooks_config_template = '{"url": "{svc_api_url}", "run": "{run_id}", "home": "${HOME}"}'
hooks_config_name = "hooks.toml"
installed_detection = ["version", "--short"]
optional = true
long_prompt = "stdin"
message = "paste"
conversation = "hook"
resume_argv_template = ["--resume={conversation}", "{prompt}"]
conversation_files = ["~/.x/*/{conversation}.json", "~/.x/*-{conversation:8}"]
`)
	want := provider.Entry{
		ID: "my-tool_1", Name: "My tool", Bin: "/opt/tool",
		ArgvTemplate: []string{"run", "{args}", "--model={model}", "{prompt}", "{hooks_config}", "{api_key}", `{"tui":"default"}`, "${HOME}"},
		EnvMap: provider.EnvMap{
			{Name: "A", Source: "SVC_GATEWAY_URL"}, {Name: "B", Source: "SVC_HOOKS_CONFIG"}, {Name: "C", Literal: "fixed = value"},
		},
		TUIType:            provider.RawMode,
		CompletionSignals:  []provider.CompletionSignal{provider.IdleDetection, provider.NativeHook, provider.ExitCode},
		HooksTemplate:      `{"url": "{svc_api_url}", "run": "{run_id}", "home": "${HOME}"}`,
		HooksName:          "hooks.toml",
		InstalledDetection: []string{"version", "--short"},
		Optional:           true,
		LongPrompt:         provider.PromptStdin,
		Message:            provider.MessagePaste,
		Conversation:       svc.ConversationByHook,
		ResumeTemplate:     []string{"--resume={conversation}", "{prompt}"},
		ConversationFiles:  []string{"~/.x/*/{conversation}.json", "~/.x/*-{conversation:8}"},
	}
	if got := entry(t, c, "my-tool_1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWhatAnEntryLeavesOutHasADefault(t *testing.T) {
	t.Parallel()
	want := provider.Entry{
		ID: "x", Name: "x", Bin: "tool", ArgvTemplate: []string{"{args}", "{prompt}"}, TUIType: provider.LineOriented,
		CompletionSignals: []provider.CompletionSignal{provider.ExitCode}, HooksName: "hooks.json", InstalledDetection: []string{"--version"},
		LongPrompt: provider.PromptRefused, Message: provider.MessageNone,
	}
	if got := entry(t, parse(t, "[providers.x]\nbin = 'tool'"), "x"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestMistakesAreToldWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	const resumes = "[providers.x]\nbin = 'a'\nconversation = 'hook'\nresume_argv_template = ['{conversation}', '{prompt}']\n"
	tests := []struct{ name, text, want string }{
		{"no TOML", "[providers.x]\nbin = ", "providers.toml line 2: not TOML"},
		{"a key twice", "[providers.x]\nbin = 'a'\nbin = 'b'", "providers.toml line 3: "},
		{"unknown key at the top", "\ncolour = 1", "providers.toml line 2: colour: unknown key"},
		{"unknown key of an entry", "[providers.x]\nbin = 'a'\nbinary = 'b'", "providers.toml line 3: providers.x.binary: unknown key"},
		{"a key in upper case", "[providers.x]\nbin = 'a'\nNAME = 'b'", "providers.toml line 3: providers.x.NAME: unknown key"},
		{"unknown key in an inline table", "providers = { x = { bin = 'a', y = 1 } }", "providers.toml line 1: providers.x.y: unknown key"},
		{"a table below an entry", "[providers.x]\nbin = 'a'\n[providers.x.env]\nA = 'b'", "line 3: providers.x.env: unknown key"},
		{"providers is no table", "providers = 1", "line 1: providers: must hold tables"},
		{"an entry is no table", "[providers]\nx = 1", "line 2: providers.x: must be a table"},
		{"an array of entries", "[[providers.x]]\nbin = 'a'", "line 1: providers.x: must be a table"},
		{"an id in upper case", "[providers.Tool]\nbin = 'a'", "line 1: providers.Tool: an id has"},
		{"an id with a space", "[providers.'a b']\nbin = 'a'", `line 1: providers."a b": an id has`},
		{"an empty id", "[providers.'']\nbin = 'a'", `line 1: providers."": an id has`},
		{"an id of 65 characters", "[providers." + strings.Repeat("a", 65) + "]\nbin = 'a'", ": an id has"},
		{"another id inside", "[providers.x]\nid = 'y'\nbin = 'a'", "line 2: providers.x.id: is not the id"},
		{"no bin", "\n\n[providers.x]\nname = 'X'", "line 3: providers.x.bin: is missing"},
		{"an unknown way to take messages", "[providers.x]\nbin = 'a'\nmessage = 'type'", "line 3: providers.x.message: must be one of none, paste"},
		{"an empty bin", "[providers.x]\nbin = ' '", "line 2: providers.x.bin: must be the name"},
		{"a relative bin", "[providers.x]\nbin = './a'", "line 2: providers.x.bin: must be a name to look up on the PATH, or an absolute path"},
		{"a bin of the wrong type", "[providers.x]\nbin = 1", "line 2: providers.x.bin: must be a string"},
		{"a bin with NUL", "[providers.x]\nbin = \"a\\u0000\"", "line 2: providers.x.bin: must not contain a NUL"},
		{"an empty name", "[providers.x]\nbin = 'a'\nname = ''", "line 3: providers.x.name: must be one line"},
		{"argv as a shell line", "[providers.x]\nbin = 'a'\nargv_template = 'run {prompt}'", "line 3: providers.x.argv_template: must be a list of strings"},
		{"argv with a number", "[providers.x]\nbin = 'a'\nargv_template = ['run', 1]", "line 3: providers.x.argv_template: must be a list of strings"},
		{"unknown argv placeholder", "[providers.x]\nbin = 'a'\nargv_template = ['{promt}']", "line 3: providers.x.argv_template: unknown placeholder {promt}"},
		{"a hook placeholder in argv", "[providers.x]\nbin = 'a'\nargv_template = ['{run_id}']", "unknown placeholder {run_id}"},
		{"args inside an element", "[providers.x]\nbin = 'a'\nargv_template = ['-x={args}']", "line 3: providers.x.argv_template: {args} must be an element of its own"},
		{"unknown hook placeholder", "[providers.x]\nbin = 'a'\nhooks_config_template = '{api_key}'", "line 3: providers.x.hooks_config_template: unknown placeholder {api_key}"},
		{"hook config in another folder", "[providers.x]\nbin = 'a'\nhooks_config_name = '../a'", "line 3: providers.x.hooks_config_name: must be a file name"},
		{"wrong conversation", "[providers.x]\nbin = 'a'\nconversation = 'new'", "line 3: providers.x.conversation: must be one of none, minted, hook"},
		{"a minted id for nobody", "[providers.x]\nbin = 'a'\nconversation = 'minted'", "providers.x.argv_template: must have {conversation}"},
		{"an id that nobody mints", "[providers.x]\nbin = 'a'\nargv_template = ['{conversation}']\nconversation = 'hook'", "line 3: providers.x.argv_template: has {conversation}"},
		{"resume without a conversation", "[providers.x]\nbin = 'a'\nresume_argv_template = ['{conversation}', '{prompt}']", "line 3: providers.x.resume_argv_template: needs conversation"},
		{"resume of any conversation", "[providers.x]\nbin = 'a'\nconversation = 'hook'\nresume_argv_template = ['--last', '{prompt}']", "line 4: providers.x.resume_argv_template: must have {conversation}"},
		{"resume without the prompt", "[providers.x]\nbin = 'a'\nconversation = 'hook'\nresume_argv_template = ['{conversation}']", "line 4: providers.x.resume_argv_template: must take {prompt}"},
		{"a relative file", resumes + "conversation_files = ['.x/{conversation}']", "line 5: providers.x.conversation_files: must begin with /, ~/ or $NAME/"},
		{"a file of another user", resumes + "conversation_files = ['~other/{conversation}']", "line 5: providers.x.conversation_files: must begin with /, ~/ or $NAME/"},
		{"a file of any conversation", resumes + "conversation_files = ['~/x/last']", "line 5: providers.x.conversation_files: must have {conversation} in the name of the file, once"},
		{"a file of many conversations", resumes + "conversation_files = ['~/x/{conversation:7}']", "line 5: providers.x.conversation_files: must have {conversation} in the name of the file, once; {conversation:8} is its first 8 characters, the fewest"},
		{"a part that is no number", resumes + "conversation_files = ['~/x/{conversation}{conversation:a}']", "line 5: providers.x.conversation_files: must have {conversation} in the name of the file, once"},
		{"a file of two conversations", resumes + "conversation_files = ['~/x/{conversation}-{conversation:8}']", "line 5: providers.x.conversation_files: must have {conversation} in the name of the file, once"},
		{"a folder of a conversation", resumes + "conversation_files = ['~/{conversation}/x']", "line 5: providers.x.conversation_files: must have {conversation} in the name of the file, once"},
		{"a file above", resumes + "conversation_files = ['~/x/../{conversation}']", "line 5: providers.x.conversation_files: must not have empty parts, . or .."},
		{"a wildcard that is none", resumes + "conversation_files = ['~/[a-z]/{conversation}']", "line 5: providers.x.conversation_files: has * as its only wildcard"},
		{"unknown file placeholder", resumes + "conversation_files = ['~/{run_id}/{conversation}']", "line 5: providers.x.conversation_files: unknown placeholder {run_id}"},
		{"files of no conversation", "[providers.x]\nbin = 'a'\nconversation_files = ['~/{conversation}']", "line 3: providers.x.conversation_files: needs resume_argv_template"},
		{"unknown resume placeholder", "[providers.x]\nbin = 'a'\nconversation = 'hook'\nresume_argv_template = ['{session}']", "line 4: providers.x.resume_argv_template: unknown placeholder {session}"},
		{"args inside a resume element", "[providers.x]\nbin = 'a'\nconversation = 'hook'\nresume_argv_template = ['-x={args}']", "line 4: providers.x.resume_argv_template: {args} must be"},
		{"wrong tui_type", "[providers.x]\nbin = 'a'\ntui_type = 'fullscreen'", "line 3: providers.x.tui_type: must be one of line_oriented, full_screen, raw_mode"},
		{"wrong completion signal", "[providers.x]\nbin = 'a'\ncompletion_signals = ['exit']", "line 3: providers.x.completion_signals: must be one of native_hook, exit_code, idle_detection"},
		{"optional as text", "[providers.x]\nbin = 'a'\noptional = 'yes'", "line 3: providers.x.optional: must be true or false"},
		{"env_map as a table", "[providers.x]\nbin = 'a'\nenv_map = { A = 'B' }", "line 3: providers.x.env_map: must be a string"},
		{"env_map line without =", "[providers.x]\nbin = 'a'\nenv_map = \"\"\"\nA=B\nC\n\"\"\"", "line 5: providers.x.env_map: must have lines of the form NAME=SOURCE"},
		{"env_map with a bad name", "[providers.x]\nbin = 'a'\nenv_map = '''A=B\n1C=D'''", "line 4: providers.x.env_map: must have lines"},
		{"env_map with escapes", "[providers.x]\nbin = 'a'\nenv_map = \"A=B\\nC\"", "line 3: providers.x.env_map: must have lines"},
		{"env_map sets a name twice", "[providers.x]\nbin = 'a'\nenv_map = '''\nA=B\nA=C'''", "line 5: providers.x.env_map: A is set twice"},
		{"env_map sets our own", "[providers.x]\nbin = 'a'\nenv_map = 'SVC_RUN_ID=A'", "SVC_RUN_ID: names that begin with SVC_ belong to svc"},
		{"env_map hands out the worker token", "[providers.x]\nbin = 'a'\nenv_map = 'A=SVC_WORKER_TOKEN'", "A: SVC_WORKER_TOKEN never enters a session"},
		{"env_map hands out the user token", "[providers.x]\nbin = 'a'\nenv_map = 'A=SVC_TOKEN'", "A: SVC_TOKEN never enters a session"},
		{"env_map hands out the signing key", "[providers.x]\nbin = 'a'\nenv_map = 'A=SVC_SIGNING_KEY'", "A: SVC_SIGNING_KEY never enters a session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Parse("providers.toml", []byte(tt.text))
			var problems provider.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want Problems", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if problems[0].File != "providers.toml" || problems[0].Line == 0 {
				t.Errorf("file or line is missing: %+v", problems[0])
			}
		})
	}
}

func TestAllMistakesAreToldAtOnceFromTheTop(t *testing.T) {
	t.Parallel()
	_, err := provider.Parse("c.toml", []byte("[providers.x]\ntui_type = 'no'\n[providers.y]\nbin = 'a'\noptional = 1\n[other]\n"))
	var got provider.Problems
	if !errors.As(err, &got) {
		t.Fatal(err)
	}
	var lines []int
	for _, p := range got {
		lines = append(lines, p.Line)
	}
	if want := []int{1, 2, 5, 6}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v:\n%v", lines, want, err)
	}
}

func TestAMistakeNeverShowsWhatMayBeAKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[providers.x]\nbin = 'a'\nenv_map = 'API_KEY=sk-geheim-1'",
		"[providers.x]\nbin = 'a'\nenv_map = '''API_KEY=\"sk-geheim-1'''",
		"[providers.x]\nbin = 'a'\ntui_type = 'sk-geheim-1'",
		"[providers.x]\nbin = 'a'\nenv_map = 'API_KEY=sk-geheim-1",
	} {
		_, err := provider.Parse("c.toml", []byte(text))
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheOrderIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	c := parse(t, "[providers.zeta]\nbin='a'\n[providers.alpha]\nbin='a'\n[providers.mid]\nbin='a'")
	if got, want := c.IDs(), []string{"zeta", "alpha", "mid"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnUnknownProviderIsAnErrorForTheUser(t *testing.T) {
	t.Parallel()
	_, err := parse(t, "[providers.a]\nbin='a'").Entry("b")
	if svc.CodeOf(err) != svc.CodeUnknownProvider || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("got %v", err)
	}
}

func TestAnEntryDoesNotChangeWithWhatOthersDoToTheirCopy(t *testing.T) {
	t.Parallel()
	c := parse(t, "[providers.a]\nbin='a'\nenv_map='A=B'")
	mine, theirs := entry(t, c, "a"), entry(t, c, "a")
	theirs.ArgvTemplate[0], theirs.EnvMap[0].Name, theirs.CompletionSignals[0], theirs.InstalledDetection[0] = "x", "x", "x", "x"
	c.Entries()[0].ArgvTemplate[0] = "x"
	c.IDs()[0] = "x"
	if again := entry(t, c, "a"); !reflect.DeepEqual(again, mine) || c.IDs()[0] != "a" {
		t.Errorf("got %+v, want %+v", again, mine)
	}
}

func TestAnEntrySurvivesJSON(t *testing.T) {
	t.Parallel()
	for _, e := range provider.Defaults().Entries() {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got provider.Entry
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("got  %+v\nwant %+v", got, e)
		}
	}
	if err := new(provider.EnvMap).UnmarshalText([]byte("A=B\nC")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad line was not reported: %v", err)
	}
}

func TestWhatIsNoCatalogFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, big, filepath.Join(dir, "missing.toml"), os.DevNull} {
		if _, err := provider.Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
