package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addManFlag adds the flag of `svc help` that writes the manual pages.
func addManFlag(help *cobra.Command) {
	var dir string
	help.Flags().StringVar(&dir, "man", "", "write the manual page of every command into `DIR`, for man(1)")
	show := help.Run
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if dir == "" {
			show(cmd, args)
			return nil
		}
		if len(args) > 0 {
			return usage("`svc help --man DIR` writes all of them", "help --man takes no command")
		}
		return writeManPages(cmd.Root(), dir)
	}
}

// writeManPages writes svc.1 and a page for each command.
func writeManPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range manPages(root) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPages returns every page by the name of its file. The pages have the same texts as --help and docs/cli.md, and
// no date: the same version always returns the same bytes.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{"svc.1": manOverview(root)}
	eachCommand(root, func(c *cobra.Command) {
		if c.Annotations[isGroup] == "" && c.Name() != "completion" {
			pages[manName(c)+".1"] = manPage(c)
		}
	})
	return pages
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manOverview(root *cobra.Command) string {
	var b strings.Builder
	manHead(&b, root)
	b.WriteString(".SH COMMANDS\n")
	eachCommand(root, func(c *cobra.Command) {
		if c.Annotations[isGroup] == "" {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(c.CommandPath()), roff(c.Short))
		}
	})
	manFlags(&b, "OPTIONS OF EVERY COMMAND", root.PersistentFlags())
	b.WriteString(".SH EXIT STATUS\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", c.code, roff(c.means))
	}
	return b.String()
}

func manPage(c *cobra.Command) string {
	var b strings.Builder
	manHead(&b, c)
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n.nf\n" + roff(strings.TrimSpace(text)) + "\n.fi\n")
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roff(strings.TrimRight(unindent(c.Example), "\n")) + "\n.fi\n")
	}
	b.WriteString(".SH SEE ALSO\n.BR svc (1)\n")
	return b.String()
}

func manHead(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"svc %s\" \"svc manual\"\n", strings.ToUpper(manName(c)), roff(Version()))
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(manName(c)), roff(c.Short), roff(c.UseLine()))
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if name, text, ok := flagWords(f); ok {
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(text))
		}
	})
}

// roff escapes a text so that roff takes no part of it as a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
