package tmux

import (
	"os"
	"slices"
	"strings"
)

// insideTmux are the variables by which a program detects that it runs inside tmux. Neither the tmux that is
// called here nor the program in the pane may have them: it would use another terminal than its own.
var insideTmux = []string{"TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"}

// baseEnv returns the part of the caller's environment that tmux gets.
func baseEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"),
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"COLORTERM=truecolor",
	}
}

// mergeEnv adds extra to base and removes the variables of insideTmux. The last value of a name is used.
func mergeEnv(base, extra []string) []string {
	var names, env []string
	for _, entry := range append(slices.Clone(base), extra...) {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || slices.Contains(insideTmux, name) {
			continue
		}
		if i := slices.Index(names, name); i >= 0 {
			env[i] = entry
			continue
		}
		names, env = append(names, name), append(env, entry)
	}
	return env
}
