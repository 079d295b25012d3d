package tmux

import (
	"strconv"
	"strings"
)

// MinVersion is the oldest supported tmux. In older versions a program in a pane can always write past tmux to
// the terminal of an attached user (passthrough), and no option forbids it.
const MinVersion = "3.3"

// TooOld reports whether a version, as tmux prints it ("3.3a", "next-3.5"), is older than MinVersion. A version
// that cannot be parsed counts as new enough.
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
