package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"svc/wire"
)

// timesIn returns the times in a file, unchanged.
func timesIn(path string) (times []wire.LogTime) {
	text, _ := os.ReadFile(path) // without the file there are none
	for line := range bytes.Lines(text) {
		if at, ok := wire.ParseLogTime(bytes.TrimSuffix(line, []byte("\n"))); ok {
			times = append(times, at)
		}
	}
	return times
}

// begun is the first time of a file that was created at the host's clock 1000 and the wall clock 5 s.
var begun = wire.LogTime{Cols: 220, Rows: 50, At: 5000}

func madeTimes(t *testing.T, base int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "times")
	if err := makeTimes(path, base, 1000, 220, 50, time.UnixMilli(5000)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTimesAreNotedAtMostTwentyTimesASecond(t *testing.T) {
	t.Parallel()
	path := madeTimes(t, 100)
	clock := int64(1000)
	times, size := openTimesBy(func() int64 { return clock }, path), int64(100)
	defer times.Close()
	write := func() {
		times.Note(size)
		size++
	}
	for range 400 { // a byte every 5 ms
		write()
		clock += 5
	}
	got := timesIn(path)
	if len(got) != 41 || got[0] != begun || got[1] != (wire.LogTime{}) || got[2] != (wire.LogTime{Ms: 50, Offset: 10}) {
		t.Errorf("%d times in two seconds, that begin with %v", len(got), got[:min(3, len(got))])
	}
	times.size = wire.MaxTimesFile/2 + 1
	for range 400 {
		write()
		clock += 5
	}
	if more := len(timesIn(path)) - len(got); more > 3 {
		t.Errorf("%d times in two seconds of a file that is half full", more)
	}
	times.size = wire.MaxTimesFile
	clock += 10_000
	write()
	if at := timesIn(path); at[len(at)-1].Ms > 5000 {
		t.Errorf("%v was noted in a full file", at[len(at)-1])
	}
}

func TestTimesGoOnWhereAWriterEnded(t *testing.T) {
	t.Parallel()
	path := madeTimes(t, 0)
	noteAt := func(clock, offset int64) {
		times := openTimesBy(func() int64 { return clock }, path)
		defer times.Close()
		times.Note(offset)
	}
	noteAt(1500, 7)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("900 9") // a partial write, after a crash or on a full disk
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	noteAt(2000, 9)
	noteAt(30, 12) // the host was restarted
	if err := makeTimes(path, 3, 9000, 220, 50, time.UnixMilli(9000)); err != nil {
		t.Errorf("times that were begun before: %v", err)
	}
	noteAt(2500, 15)
	want := []wire.LogTime{begun, {Ms: 500, Offset: 7}, {Ms: 900, Offset: 9}, {Ms: 1000, Offset: 9}, {Ms: 1000, Offset: 12}, {Ms: 1500, Offset: 15}}
	if got := timesIn(path); !slices.Equal(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
}
