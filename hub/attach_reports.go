package hub

import "regexp"

// reports is input that a terminal sends by itself: the answers to what tmux
// asks it when someone attaches, and whether its window has the focus.
var reports = regexp.MustCompile(`^(?:` +
	`\x1b\[[?>=][0-9;]*(?:[cnuRt]|\$y)` + // what it is, its modes and states
	`|\x1b\[[0-9;]+[nRt]` + // status, place of the cursor, size
	`|\x1b\[[IO]` + // focus
	`|\x1b[P\]][^\x07\x1b]*(?:\x07|\x1b\\)` + // strings: its version, its colours
	`)+$`)

// onlyReports reports whether nobody typed the input.
func onlyReports(b []byte) bool { return reports.Match(b) }
