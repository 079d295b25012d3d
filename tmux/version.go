package tmux

import (
	"strconv"
	"strings"
)

// MinVersion is the oldest tmux that sessions can be kept in. Before it, a program in a pane may
// always write past tmux to the terminal of whoever attaches (passthrough), and no option forbids it.
const MinVersion = "3.3"

// TooOld reports whether a version, as tmux spells it ("3.3a", "next-3.5"), is older than MinVersion. One
// that cannot be read is taken as new enough.
func TooOld(version string) bool {
	major, minor, ok := release(version)
	leastMajor, leastMinor, _ := release(MinVersion)
	return ok && (major < leastMajor || major == leastMajor && minor < leastMinor)
}

func release(version string) (major, minor int, ok bool) {
	if _, number, found := strings.Cut(version, "-"); found {
		version = number
	}
	first, second, _ := strings.Cut(version, ".")
	second = strings.TrimRight(second, "abcdefghijklmnopqrstuvwxyz")
	major, err := strconv.Atoi(first)
	minor, errMinor := strconv.Atoi(second)
	return major, minor, err == nil && errMinor == nil
}
