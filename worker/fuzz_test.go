package worker

import (
	"os"
	"path/filepath"
	"testing"

	"svc/wire"
)

// FuzzTimesFile lets a session write anything to the file of its log's times. The relay must get only times
// within the bytes that it sends, in order, at most as many as a chunk may carry, and must continue.
func FuzzTimesFile(f *testing.F) {
	for _, seed := range []string{"", "1 0\n", "1 0 80 24\n2 5\n3 9 80 24 7\n", "9 9\n1 1\n", "x\n-1 -1\n1 99999999999999999999\n", "1 1", "\n\n\n", "5 3\n5 3\n5 3\n"} {
		f.Add([]byte(seed), int64(0), int64(10))
		f.Add([]byte(seed), int64(4), int64(5))
	}
	path := filepath.Join(f.TempDir(), "times")
	f.Fuzz(func(t *testing.T, file []byte, from, length int64) {
		if from < 0 || length < 1 || from > 1<<40 || length > 1<<20 {
			return
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &timesReader{path: path}
		to := from + length
		for steps := 0; from < to; steps++ {
			times, end := r.between(from, to)
			if end <= from || end > to || len(times) > wire.MaxTimes || steps > len(file) {
				t.Fatalf("from %d to %d: %d times, and it goes on at %d", from, to, len(times), end)
			}
			last := from
			for _, at := range times {
				if at.Offset < last || at.Offset >= end && at.Offset >= to {
					t.Fatalf("from %d to %d: %+v after %d", from, end, at, last)
				}
				last = at.Offset
			}
			from = end
		}
	})
}
