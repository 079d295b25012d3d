package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"svc/internal/needtest"
)

// completers are scripts that print what a real shell completes for a line. The
// line ends where Tab is pressed.
var completers = map[string]struct{ program, script string }{
	"bash": {"bash", `
		source <(svc completion bash)
		_get_comp_words_by_ref() { # what the bash-completion package brings along
			cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
		}
		COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
		read -ra COMP_WORDS <<<"$1"
		[[ $1 == *' ' ]] && COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		__start_svc
		printf '%s\n' "${COMPREPLY[@]}"`},
	"fish": {"fish", `svc completion fish | source; complete --do-complete "$argv[1]"`},
	"zsh": {"zsh", `
		compdef() { :; }
		_describe() { print -rl -- "${completions[@]}"; }
		source <(svc completion zsh)
		words=(${(z)1}) CURRENT=${#words}
		[[ $1 == *' ' ]] && { words+=(''); CURRENT=$((CURRENT + 1)); }
		_svc`},
}

func TestShellsCompleteLiveNames(t *testing.T) {
	t.Parallel()
	env, svc := startServer(t)
	svc("project", "create", "Website", "--slug", "web")
	svc("host", "create", "build-2")
	for shell, c := range completers {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program := needtest.Extra(t, c.program)
			for line, want := range map[string]string{
				"svc project show w": "web", "svc host show ": "build-2", "svc pro": "project", "svc run list --project ": "web",
			} {
				args := []string{"-c", c.script, line}
				if shell == "bash" || shell == "zsh" {
					args = []string{"-c", c.script, shell, line}
				}
				cmd := exec.Command(program, args...)
				cmd.Env = env
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", line, err, out)
				}
				if !offers(string(out), want) {
					t.Errorf("%q is completed with %q, want %s among them", line, out, want)
				}
			}
		})
	}
}

// offers reports whether one of the lines is the name, with or without a
// description after it.
func offers(out, name string) bool {
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		word, _, _ = strings.Cut(word, ":")
		word, _, _ = strings.Cut(word, " ")
		if word == name {
			return true
		}
	}
	return false
}
