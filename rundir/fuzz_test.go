package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"svc"
)

// FuzzCounter numbers signals after the session has written anything into their counter and any name into its
// spool: the numbers must be positive, exact as JSON numbers, and increasing.
func FuzzCounter(f *testing.F) {
	f.Add([]byte("00000000000000000007..."), "00000000000000000009.progress")
	f.Add([]byte("09223372036854775807"), "")
	f.Add([]byte("-0000000000000000001"), "09223372036854775807.progress")
	f.Add([]byte(""), "9007199254740991.progress")
	id := svc.NewID()
	f.Fuzz(func(t *testing.T, counter []byte, spooled string) {
		a := Dir(t.TempDir()).Attempt(id, 1)
		if err := os.MkdirAll(a.SpoolPath(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.SessionFile(counterName), counter, 0o600); err != nil {
			t.Fatal(err)
		}
		if name := a.spoolPrefix() + spooled; filepath.Base(name) == name {
			_ = os.WriteFile(filepath.Join(a.SpoolPath(), name), nil, 0o600) // some names are invalid
		}
		var before int64
		for range 3 {
			n, err := a.takeNumber()
			if err != nil || n <= before || n >= maxNumber+3 {
				t.Fatalf("%q: the number after %d is %d (%v)", counter, before, n, err)
			}
			before = n
		}
		if last := a.lastNumber(); last <= before {
			t.Fatalf("the last number is %d, after %d", last, before)
		}
	})
}
