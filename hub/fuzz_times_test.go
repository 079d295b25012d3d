package hub

import (
	"bytes"
	"testing"

	"svc/wire"
)

// FuzzTimeLines reads arbitrary files of times, and parses arbitrary positions in a log.
func FuzzTimeLines(f *testing.F) {
	for _, seed := range []string{"", "1 0\n", "1 0 80 24\n2 5\n", "x\n1 1", "99999999999999999999 1\n", "1:2", "1:-1", "-1:2", "1:9223372036854775807"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		lines := timesLines(bytes.NewReader(file))
		for at, err := lines.next(); err == nil; at, err = lines.next() {
			if again, ok := wire.ParseLogTime(bytes.TrimSuffix(at.AppendLine(nil), []byte("\n"))); !ok || again != at {
				t.Fatalf("%+v became %+v", at, again)
			}
			if at.Ms < 0 || at.Offset < 0 || lines.read > int64(len(file)) {
				t.Fatalf("%+v after %d bytes of %d", at, lines.read, len(file))
			}
		}
		if p, ok := ParseLogPlace(string(file)); ok && (p.Attempt < 0 || p.Offset < 0 || p.Offset > mostOffset) {
			t.Fatalf("%q is %+v", file, p)
		}
	})
}
