package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc/internal/needtest"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	root := newApp().root()
	pages := manPages(root)
	eachCommand(root, func(c *cobra.Command) {
		if c.Annotations[isGroup] != "" || c.Name() == "completion" {
			return
		}
		page := pages[manName(c)+".1"]
		for _, section := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"} {
			if !strings.Contains(page, section) {
				t.Errorf("%s: its page has no %q", c.CommandPath(), section)
			}
		}
	})
	if got := roff(".SH x\n'y\n--all \\ z"); got != "\\&.SH x\n\\&'y\n\\-\\-all \\e z" {
		t.Errorf("got %q", got)
	}
}

func TestTheManualPagesAreGoodRoff(t *testing.T) {
	t.Parallel()
	groff := needtest.Extra(t, "groff")
	for name, text := range manPages(newApp().root()) {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
