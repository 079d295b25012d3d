package cli

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// furtherWords are flags that some commands need before they send a request. Nil: the command needs a terminal or
// standard input.
var furtherWords = map[string][]string{
	"svc top": nil, "svc attach": nil, "svc login": nil,
	"svc project update": {"--name", "N"}, "svc task update": {"--title", "T"}, "svc host update": {"--name", "N"},
	"svc task move": {"--before", evilID}, "svc task reparent": {"--root"}, "svc run stop": {evilID}, "svc stop": {evilID}, "svc workspace restore": {"--host", "h"},
}

// otherWords are arguments that are not ids.
var otherWords = map[string]string{"KEY…": "Enter", "PRIORITY": "1"}

// Every command that calls an orchestrator which does not answer ends at its --timeout, with the exit code for that.
func TestEveryCommandEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(ended) })
	tried := 0
	eachCommand(newApp().root(), func(c *cobra.Command) {
		path := c.CommandPath()
		further, known := furtherWords[path]
		if c.Flag("server") == nil || c.Flag("timeout") == nil || c.Annotations[isGroup] != "" || known && further == nil {
			return
		}
		tried++
		args := append(strings.Fields(path)[1:], further...)
		for _, word := range argumentsIn(c.Use) {
			args = append(args, cmp.Or(otherWords[word], evilID))
		}
		if c.Flag("yes") != nil {
			args = append(args, "--yes")
		}
		code, said := callAs(t.Context(), t.TempDir(), silent.URL, append(args, "--timeout", "20ms")...)
		if code != exitPending || !strings.Contains(said, "20ms") {
			t.Errorf("svc %s ended with %d, want %d:\n%s", strings.Join(args, " "), code, exitPending, said)
		}
	})
	if tried < 50 {
		t.Errorf("only %d commands were tried", tried)
	}
}

// argumentsIn returns the names of the required arguments in a command's usage line: not those in brackets, nor
// values of flags.
func argumentsIn(use string) (names []string) {
	words := strings.Fields(regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(use, ""))
	for i, word := range words {
		if i > 0 && strings.ToUpper(word) == word && !strings.HasPrefix(words[i-1], "--") {
			names = append(names, word)
		}
	}
	return names
}
