package hub

import "regexp"

// reports matches input that a terminal sends by itself: its replies to the queries of tmux when a client attaches,
// and focus events of its window.
var reports = regexp.MustCompile(`^(?:` +
	`\x1b\[[?>=][0-9;]*(?:[cnuRt]|\$y)` + // device attributes, modes and states
	`|\x1b\[[0-9;]+[nRt]` + // status, cursor position, size
	`|\x1b\[[IO]` + // focus
	`|\x1b[P\]][^\x07\x1b]*(?:\x07|\x1b\\)` + // strings: version, colours
	`)+$`)

// onlyReports reports whether the input consists of such reports only, so that no person typed it.
func onlyReports(b []byte) bool { return reports.Match(b) }
