//go:build race

package engine

import (
	"flag"
	"os"
	"strings"
)

// A database under the race detector is some twenty times slower, and the
// detector looks for other things than the models do: with it they run fewer
// histories. The check runs them in full without it.
func init() {
	for _, arg := range os.Args {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), "rapid.checks") {
			return // someone asks for a number
		}
	}
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
}
