package process

import (
	"strings"
	"testing"
)

// FuzzStat gives a process any name: the name must not change the parsed pid, parent or state.
func FuzzStat(f *testing.F) {
	for _, name := range []string{"sh", "a b", ")", ") Z 1 1 1 1", "(", "\n", "x) R 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7"} {
		f.Add(name)
	}
	rest := ") S 41 42 43 " + strings.Repeat("0 ", 13) + "1 0 99 0 0"
	f.Fuzz(func(t *testing.T, name string) {
		p, err := parse([]byte("40 (" + name + rest))
		if err != nil || p.PID != 40 || p.Command != name || p.Parent != 41 || p.Session != 43 || p.Start != 99 || p.Ended {
			t.Fatalf("%q is %+v (%v)", name, p, err)
		}
		_, _ = parse([]byte(name)) // any text must not panic
	})
}
