package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"svc/config"
)

// helpFile has the help text of every command, so that a change of a text
// is visible in a review.
var helpFile = filepath.Join("testdata", "help.txtar")

func TestHelpTextsAreTheOnesThatPeopleKnow(t *testing.T) {
	t.Parallel()
	var got txtar.Archive
	got.Comment = []byte("What --help says, command by command: go test ./cli -run Help -update\n\n")
	say := func(c *cobra.Command) {
		name := c.CommandPath()
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(help(t, name))})
	}
	root := newApp().root()
	say(root)
	eachCommand(root, say)
	text := txtar.Format(&got)
	if *update {
		if err := os.MkdirAll(filepath.Dir(helpFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(helpFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(helpFile)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(text, want) {
		return
	}
	known := map[string]string{}
	for _, f := range txtar.Parse(want).Files {
		known[f.Name] = string(f.Data)
	}
	for _, f := range got.Files {
		if known[f.Name] != string(f.Data) {
			t.Errorf("%s --help has changed:\n got %s\nwant %s", f.Name, f.Data, known[f.Name])
		}
	}
	t.Error("look at it, then run: go test ./cli -run Help -update")
}

// help returns the help text of a command.
func help(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: newStream(&out), err: newStream(&out), src: config.Sources{Env: func(string) string { return "" }}, flags: map[string]config.Flag{}}
	args := append(strings.Fields(path)[1:], "--help")
	if code := a.run(t.Context(), args); code != exitOK {
		t.Fatalf("%s --help ended with exit code %d:\n%s", path, code, &out)
	}
	return out.String()
}
