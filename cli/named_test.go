package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"svc/wrapper"
)

// Documents, messages and the page name commands to type. Every such command exists, with the flags that are named. A
// command on a line of its own in a code block of a document has all its arguments.
func TestEveryCommandThatPeopleAreToldToTypeExists(t *testing.T) {
	t.Parallel()
	found, blocks, tried := 0, 0, map[mention]bool{}
	for file, text := range readByPeople(t) {
		for _, m := range mentions(file, text) {
			found++
			if m.whole {
				blocks++
			}
			line := m.line
			if m.line = 0; tried[m] || slices.Contains(signedTexts, m.command) {
				continue
			}
			tried[m] = true
			if err := m.try(); err != nil {
				t.Errorf("%s:%d: %q: %v", file, line, m.command, err)
			}
		}
	}
	if found < 500 || blocks < 100 {
		t.Errorf("only %d commands were found, %d of them in blocks; are the files read rightly?", found, blocks)
	}
}

func TestAMistakeInACommandThatIsNamedIsFound(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for text, want := range map[string]string{
		"Use `svc run list`, `svc ps --sort title` and `svc run stop --all --host H`.": "",
		"`svc run lists` tells":                                     "there is no command `svc run lists`",
		"`svc run list --activ`":                                    "unknown flag: --activ",
		"`svc run list -n`, `svc run list -x`":                      "unknown shorthand flag: 'x'",
		"`svc run show RUN OTHER`":                                  `"OTHER"`,
		"`svc provider test` runs it":                               "",
		fence + "\nsvc provider test   # of which?\n" + fence:       "needs ID",
		fence + "sh\n$ X=1 svc logs RUN --grpe 'a b'\n" + fence:     "unknown flag: --grpe",
		fence + "\nsvc run start T -- --model x --none\n" + fence:   "",
		fence + "toml\nx = \"svc exec signal nothing\"\n" + fence:   "nothing",
		fence + "json\n{\"svc run nothing\": \"svc is\"}\n" + fence: "",
	} {
		var got []string
		for _, m := range mentions("docs/x.md", text) {
			if err := m.try(); err != nil {
				got = append(got, err.Error())
			}
		}
		if (want == "") != (got == nil) || want != "" && !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s\ngot %q, want %q", text, got, want)
		}
	}
}

// signedTexts are the first lines of texts that workers sign. They begin like commands.
var signedTexts = []string{"svc uplink 1", "svc request 1"}

// readByPeople returns the files of the tree that name commands for users, by path: documents, Go files and the page.
func readByPeople(t *testing.T) map[string]string {
	t.Helper()
	texts, root := map[string]string{}, ".."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (slices.Contains([]string{"node_modules", "testdata", "dist", "bin", "bench", "e2e"}, name) || strings.HasPrefix(name, ".") && file != root) {
			return fs.SkipDir
		}
		tests := strings.HasSuffix(name, "_test.go") || strings.Contains(name, ".test.")
		if entry.IsDir() || tests || !slices.Contains([]string{".md", ".go", ".ts", ".tsx"}, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(file)
		texts[filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// mention is a command that a text names.
type mention struct {
	line    int
	command string
	whole   bool // it is on a line of its own, so no argument may be missing
}

var (
	fenceOf  = regexp.MustCompile("^\\s*```(\\w*)")
	typed    = regexp.MustCompile(`^\s*(?:\$ |next +)?(?:ExecStart=\S*/)?(?:[A-Z_]+=\S+ )*(svc [a-z].*)`)
	quoted   = regexp.MustCompile(`"(svc [a-z][^"]*)"`)
	codeSpan = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )?(svc [a-z-][^`]*)`")
)

// mentions returns the commands in a text: in a document those in code spans and blocks, elsewhere those in quotes.
func mentions(file, text string) (found []mention) {
	language, fenced, document := "", false, filepath.Ext(file) == ".md"
	for i, line := range strings.Split(text, "\n") {
		if m := fenceOf.FindStringSubmatch(line); m != nil && document {
			language, fenced = m[1], !fenced
			continue
		}
		switch {
		case fenced && slices.Contains([]string{"", "sh", "console", "ini"}, language):
			if m := typed.FindStringSubmatch(line); m != nil {
				found = append(found, mention{i + 1, m[1], true})
			}
		case fenced && language == "toml":
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				found = append(found, mention{i + 1, m[1], true})
			}
		case !fenced:
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				found = append(found, mention{i + 1, m[1], false})
			}
		}
	}
	return found
}

// try finds the command and parses its flags and arguments, without running it.
func (m mention) try() error {
	words, cut := wordsOf(m.command)
	words = words[1:] // svc
	cmd := newApp().root()
	for len(words) > 0 {
		next, _, err := cmd.Find(words[:1])
		if err != nil || next == cmd {
			break
		}
		cmd, words = next, words[1:]
	}
	if cmd.Annotations[isGroup] != "" && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] == strings.ToLower(words[0]) {
		return fmt.Errorf("there is no command `%s %s`", cmd.CommandPath(), words[0])
	}
	switch {
	case cmd.CommandPath() == "svc exec signal" && m.whole:
		return trySignal(words)
	case cmd.DisableFlagParsing || slices.Contains(words, "--help"): // commands inside a session parse their arguments themselves
		return nil
	}
	if err := cmd.ParseFlags(words); err != nil {
		if errors.As(err, new(*pflag.NotExistError)) {
			return err
		}
		return nil // the value is left out, or a placeholder stands for it
	}
	if cmd.Args == nil { // a command of cobra
		return nil
	}
	var p *problem
	if err := cmd.Args(cmd, cmd.Flags().Args()); errors.As(err, &p) && (m.whole && !cut || !strings.Contains(p.what, " needs ")) {
		return err
	}
	return nil
}

// trySignal runs a hook's report outside of a session. For wrong arguments, the error has the usage.
func trySignal(words []string) error {
	var said strings.Builder
	wrapper.Signal(words, wrapper.IO{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said})
	if strings.Contains(said.String(), "usage:") {
		return errors.New(said.String())
	}
	return nil
}

// filledIn matches a part of a command that the page fills in.
var filledIn = regexp.MustCompile(`\$\{[^}]*\}`)

// wordsOf splits a command as a shell does, up to a comment or the next command. cut reports that a part is left out
// with an ellipsis or is filled in when the message is printed.
func wordsOf(command string) (words []string, cut bool) {
	word, in := "", rune(0)
	end := func() {
		if word != "" && word != "…" {
			words = append(words, word)
		}
		word = ""
	}
	for _, r := range filledIn.ReplaceAllString(command, "%") + " " {
		switch {
		case in != 0 && r == in:
			in = 0
		case in == 0 && (r == '"' || r == '\''):
			in, word = r, word+"·" // so that an empty word counts
		case in == 0 && r == ' ':
			end()
		case in == 0 && (r == '#' && word == "" || strings.ContainsRune("|;&>[", r)): // text in brackets is optional
			return words, cut
		default:
			cut = cut || r == '…' || r == '%' || r == '$'
			word += string(r)
		}
	}
	return words, cut
}
