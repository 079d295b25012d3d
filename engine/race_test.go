//go:build race

package engine

import (
	"flag"
	"os"
	"strings"
)

// Under the race detector a database is about twenty times slower, and the detector does not need many histories. So
// the models run fewer histories with it. The normal run does all of them.
func init() {
	for _, arg := range os.Args {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), "rapid.checks") {
			return // the number was set explicitly
		}
	}
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
}
