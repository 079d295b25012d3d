package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

func TestMarkdownIsTheDocumentThatIsShipped(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Error("docs/cli.md is out of date; run: go test ./cli -run Markdown -update")
	}
}

func TestEveryCommandKeepsToTheHouseRules(t *testing.T) {
	t.Parallel()
	eachCommand(newApp().root(), func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		path := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short text is missing or ends in a dot: %q", path, c.Short)
		}
		if c.Args == nil {
			t.Errorf("%s does not say which arguments it takes", path)
		}
		reads := c.Name() == "list" || c.Name() == "show" || c.Name() == "tree" || c.Name() == "status" || c.Name() == "events"
		if reads && (c.Flag("output") == nil || c.Flag("json") == nil) {
			t.Errorf("%s reads, but has no -o and --json", path)
		}
		if reads && c.Name() != "events" && c.Flag("watch") == nil {
			t.Errorf("%s reads, but has no --watch", path)
		}
		if c.Flag("server") != nil && c.Flag("timeout") == nil && c.Name() != "worker" && path != "svc worker install" {
			t.Errorf("%s asks the orchestrator, but has no --timeout", path)
		}
	})
}
