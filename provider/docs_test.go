package provider

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTheGuideNamesEverythingThatACatalogMayHold(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	names := slices.Concat(entryKeys, PresetNames(), workerSecrets, []string{
		string(LineOriented), string(FullScreen), string(RawMode), string(NativeHook), string(ExitCode), string(IdleDetection),
		"SVC_GATEWAY_API_KEY", "SVC_GATEWAY_URL", "SVC_GATEWAY_URL_V1", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SVC_HOOKS_CONFIG",
	})
	for _, p := range slices.Concat(argvPlaceholders, hookPlaceholders) {
		names = append(names, "{"+p+"}")
	}
	for _, name := range names {
		if !strings.Contains(guide, name) {
			t.Errorf("docs/providers.md does not mention %s", name)
		}
	}
}

func TestTheExamplesOfTheGuideAreInOrder(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(data), "```toml\n")[1:]
	if len(examples) == 0 {
		t.Fatal("no example found")
	}
	for _, example := range examples {
		text, _, _ := strings.Cut(example, "```")
		if _, err := Parse("docs/providers.md", []byte(text)); err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
}
