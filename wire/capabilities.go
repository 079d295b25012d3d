package wire

import (
	"fmt"
	"strings"
)

// MaxCapabilities is the maximum size of HeaderCapabilities in bytes.
const MaxCapabilities = 4 << 10

// JoinCapabilities returns the value of HeaderCapabilities.
func JoinCapabilities(caps []string) string { return strings.Join(caps, ",") }

// HeaderCapabilitiesOf parses the lines of HeaderCapabilities and returns the announced capabilities that this side
// supports too. It returns nil when there is no such header: then the capabilities of the registration apply. An
// empty header announces none.
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
