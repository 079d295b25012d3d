package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var indexed = regexp.MustCompile("(?m)^\\| \\[`svc ([a-z -]+)`\\]")

// Every command of the manual has a script of the same name. The script must
// contain a call that succeeds, and a call that fails with an exit code.
func TestEveryCommandHasAScriptWithItsErrors(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(filepath.Join("..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := indexed.FindAllStringSubmatch(string(manual), -1)
	if len(commands) < 40 {
		t.Fatalf("the manual lists %d commands, want at least 40; does the pattern still match?", len(commands))
	}
	for _, c := range commands {
		file := strings.NewReplacer(" ", "_", "-", "_").Replace(c[1]) + ".txtar"
		script, err := os.ReadFile(filepath.Join("testdata", "script", file))
		if err != nil {
			t.Errorf("svc %s has no script: %v", c[1], err)
			continue
		}
		if !regexp.MustCompile(`(?m)^(let \w+ |until \S+ |exits 0 |)(svc |)`+c[1]+`\b`).Match(script) && c[1] != "attach" && c[1] != "top" { // these need a terminal
			t.Errorf("%s has no successful call of svc %s", file, c[1])
		}
		if !regexp.MustCompile(`(?m)^exits [1-9]\d* \S*svc ` + c[1] + `\b`).Match(script) {
			t.Errorf("%s has no failing call of svc %s", file, c[1])
		}
	}
}
