package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Markdown returns docs/cli.md: every command with its flags, from the commands themselves.
func Markdown() string {
	root := newApp().root()
	root.InitDefaultHelpFlag()
	var b strings.Builder
	b.WriteString("# The command line\n\n")
	b.WriteString("This page is printed from the commands (`go test ./cli -run Markdown -update`); `svc COMMAND --help` says the same.\n\n")
	b.WriteString("Wherever a command takes an id, it also takes a unique prefix of the id, and the name of the record: a\n" +
		"project's slug, a task's number such as CHECKOUT-12, a host's name, a run's session. A task's number also means\n" +
		"its run: the active one, else the newest. Standard output has the answer, standard error everything else.\n" +
		"On a terminal there are colours and ages, and rows are shortened to fit; elsewhere there is none of that, times are RFC 3339,\n" +
		"and no question is asked.\n\n")
	writeIndex(&b, root)
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, root.PersistentFlags())
	b.WriteString("\n## Exit codes\n\n| code | means |\n|---|---|\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.code, c.means)
	}
	eachCommand(root, func(c *cobra.Command) { writeCommand(&b, c) })
	return b.String()
}

// eachCommand calls visit for every command that users call, in the order of the help text.
func eachCommand(parent *cobra.Command, visit func(*cobra.Command)) {
	for _, c := range parent.Commands() {
		if c.Hidden || c.Name() == "help" || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if c.Name() == "completion" {
			visit(c)
			continue // it has one subcommand for each shell, all alike
		}
		visit(c)
		eachCommand(c, visit)
	}
}

func writeIndex(b *strings.Builder, root *cobra.Command) {
	b.WriteString("| command | |\n|---|---|\n")
	eachCommand(root, func(c *cobra.Command) {
		if c.Annotations[isGroup] == "" {
			fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
		}
	})
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Annotations[isGroup] != "" {
		return
	}
	use := c.UseLine()
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	if c.Name() == "completion" {
		use, text = "svc completion bash|zsh|fish|powershell", c.Short+". `svc completion bash --help` says where to install it."
	}
	fmt.Fprintf(b, "\n## %s\n\n```\n%s\n```\n\n%s\n", c.CommandPath(), use, strings.TrimSpace(text))
	if c.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimRight(unindent(c.Example), "\n"))
	}
	if c.Name() != "completion" && c.NonInheritedFlags().HasAvailableFlags() {
		b.WriteString("\n")
		writeFlags(b, c.NonInheritedFlags())
	}
}

func unindent(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "\n  ", "\n"), "  ")
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | |\n|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if name, text, ok := flagWords(f); ok {
			fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(text, "|", "\\|"))
		}
	})
}

// flagWords returns a flag's name and explanation for the manual. ok is false for a flag that the manual leaves out.
func flagWords(f *pflag.Flag) (name, text string, ok bool) {
	if f.Hidden || f.Name == "help" {
		return "", "", false
	}
	word, text := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if word != "" {
		name += " " + word
	}
	if worthSaying(f) {
		text += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return name, text, true
}

// worthSaying reports whether the manual names the default of a flag: not when the default is empty, false or zero.
func worthSaying(f *pflag.Flag) bool {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return false
	}
	return !strings.Contains(f.Usage, "default")
}
