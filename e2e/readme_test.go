package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The screen in the README is the output of svc up: each of its lines matches a pattern that the scripts
// expect of svc up.
func TestTheScreenOfTheREADMEIsThatOfUp(t *testing.T) {
	t.Parallel()
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	wanted := []string{"^  open   http://127.0.0.1:\\d+/#token=…$"} // on a terminal alone: TestUpShowsTheSignInLinkOnATerminalOnly
	for _, script := range []string{"up", "first_hour_up"} {
		for _, m := range regexp.MustCompile(`(?m)^grep '(.*)' \S*up.out$`).FindAllStringSubmatch(read("testdata", "script", script+".txtar"), -1) {
			wanted = append(wanted, m[1])
		}
	}
	block := regexp.MustCompile("(?s)`make up` ends in a screen like this.*?```\n(.*?)```").FindStringSubmatch(read("..", "README.md"))
	if block == nil {
		t.Fatal("the README shows no screen of `make up`")
	}
	for line := range strings.Lines(block[1]) {
		line = strings.TrimSuffix(line, "\n")
		found := false
		for _, w := range wanted {
			found = found || regexp.MustCompile(w).MatchString(strings.Replace(line, "~/.local/share/svc", "/data", 1))
		}
		if !found {
			t.Errorf("no script expects svc up to print %q", line)
		}
	}
}
