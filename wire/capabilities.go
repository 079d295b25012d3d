package wire

import (
	"fmt"
	"strings"
)

// MaxCapabilities is how many bytes of HeaderCapabilities are accepted.
const MaxCapabilities = 4 << 10

// JoinCapabilities is the value of HeaderCapabilities.
func JoinCapabilities(caps []string) string { return strings.Join(caps, ",") }

// HeaderCapabilitiesOf reads the lines of HeaderCapabilities: what the worker announced that this side knows too. It
// is nil when there is no line, and those of the registration count; an empty one announces none.
func HeaderCapabilitiesOf(lines []string) ([]string, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	all := strings.Join(lines, ",")
	if len(all) > MaxCapabilities {
		return nil, fmt.Errorf("the header %s has more than %d bytes", HeaderCapabilities, MaxCapabilities)
	}
	announced := strings.Split(all, ",")
	for i, c := range announced {
		announced[i] = strings.TrimSpace(c)
	}
	return Shared(announced), nil
}
