package hub

import (
	"errors"
	"io"
	"os"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
	"svc/wire"
)

func readTimes(t testing.TB, r *Relay, runID string, attempt int) (times []wire.LogTime) {
	t.Helper()
	lt, err := r.Times(runID, attempt)
	if err != nil {
		t.Fatal(err)
	}
	if lt == nil {
		return nil
	}
	defer lt.Close()
	for {
		at, err := lt.Next()
		if errors.Is(err, io.EOF) {
			return times
		}
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
}

// timedLog is a log on its host, with the times of its bytes.
type timedLog struct {
	bytes []byte
	times []wire.LogTime
}

// chunk returns the bytes from an offset on with their times.
func (l timedLog) chunk(from int64, most int) (data []byte, times []wire.LogTime) {
	data = l.bytes[from:min(from+int64(most), int64(len(l.bytes)))]
	for _, at := range l.times {
		if at.Offset >= from && at.Offset < from+int64(len(data)) {
			times = append(times, at)
		}
	}
	return data, times
}

// TestTheTimesOfALogAreThoseOfItsBytes relays a log in arbitrary pieces, repeats pieces, restarts the orchestrator,
// simulates a crash between the two writes of a chunk, and removes the end of the stored log. In the end the stored
// log and its times are complete.
func TestTheTimesOfALogAreThoseOfItsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "times")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		log := timedLog{bytes: rapid.SliceOfN(rapid.Byte(), 1, 3000).Draw(t, "log")}
		ms, at := int64(0), int64(0)
		for at < int64(len(log.bytes)) {
			entry := wire.LogTime{Ms: ms, Offset: at}
			if rapid.IntRange(0, 4).Draw(t, "resize") == 0 {
				entry.Cols, entry.Rows = 80, 24
			}
			log.times = append(log.times, entry)
			ms, at = ms+rapid.Int64Range(0, 1000).Draw(t, "ms"), at+rapid.Int64Range(0, 400).Draw(t, "bytes")
		}
		run := svc.NewRunID()
		r := NewRelay(dir, quiet())
		defer func() { r.Close() }()
		size := func() int64 {
			state, err := r.State(run, 1)
			if err != nil {
				t.Fatal(err)
			}
			return state.Size
		}
		send := func(from int64, most int) {
			data, times := log.chunk(from, most)
			if _, err := r.Append("", run, 1, &from, data, times...); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			most := rapid.IntRange(1, 500).Draw(t, "most")
			switch rapid.SampledFrom([]string{"send", "send", "send", "again", "restart", "kill", "lose"}).Draw(t, "step") {
			case "send":
				send(size(), most)
			case "again":
				send(rapid.Int64Range(0, int64(len(log.bytes))).Draw(t, "from"), most)
			case "restart":
				r.Close()
				r = NewRelay(dir, quiet())
			case "kill": // the times are written, wholly or in part, and the bytes are not
				r.Close()
				_, times := log.chunk(size(), most)
				var text []byte
				for _, at := range times {
					text = at.AppendLine(text)
				}
				text = text[:rapid.IntRange(0, len(text)).Draw(t, "written")]
				if size() > 0 {
					appendFile(t, r.dir.times(run, 1), text)
				}
				r = NewRelay(dir, quiet())
			case "lose":
				r.Close()
				if n := size(); n > 0 {
					if err := os.Truncate(r.dir.log(run, 1), rapid.Int64Range(0, n-1).Draw(t, "left")); err != nil {
						t.Fatal(err)
					}
				}
				r = NewRelay(dir, quiet())
			}
		}
		for size() < int64(len(log.bytes)) {
			send(size(), 700)
		}
		kept, err := os.ReadFile(r.dir.log(run, 1))
		if err != nil || string(kept) != string(log.bytes) {
			t.Fatalf("the log has %d bytes, want %d: %v", len(kept), len(log.bytes), err)
		}
		lt, err := r.Times(run, 1)
		if err != nil || lt == nil {
			t.Fatalf("there are no times: %v", err)
		}
		defer lt.Close()
		var got []wire.LogTime
		for entry, err := lt.Next(); err == nil; entry, err = lt.Next() {
			got = append(got, entry)
		}
		if !reflect.DeepEqual(got, log.times) {
			t.Fatalf("times are %v, want %v", got, log.times)
		}
	})
}

func appendFile(t *rapid.T, path string, text []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTimesOfAHostileHostAreBounded(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	r.quota.MostHost = 100
	at := int64(0)
	// Times of other bytes, decreasing times, and more than the quota of the host.
	times := []wire.LogTime{{Ms: 9, Offset: 1 << 40}, {Ms: 5, Offset: 3}, {Ms: 2, Offset: 1}}
	if _, err := r.Append("h", run, 1, &at, []byte("hello"), times...); err != nil {
		t.Fatal(err)
	}
	if got, want := readTimes(t, r, run, 1), []wire.LogTime{{Ms: 5, Offset: 3}, {Ms: 5, Offset: 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
	if used := r.quota.Used("h"); used != 5+8 {
		t.Errorf("%d bytes are counted, want those of log and times", used)
	}
	at = 5
	many := make([]wire.LogTime, 50)
	for i := range many {
		many[i] = wire.LogTime{Ms: 10, Offset: 5}
	}
	if got, err := r.Append("h", run, 1, &at, []byte("more"), many...); err != nil || got.Bytes != 4 {
		t.Fatalf("the chunk was not taken: %+v, %v", got, err)
	}
	if got := readTimes(t, r, run, 1); len(got) != 2 {
		t.Errorf("%d times are kept, though the host may keep no more", len(got))
	}
}

func TestTimesCountAndGoWithTheirLog(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	for attempt := 1; attempt <= 2; attempt++ {
		at := int64(0)
		if _, err := r.Append("", run, attempt, &at, []byte("hello"), wire.LogTime{Ms: 1}); err != nil {
			t.Fatal(err)
		}
	}
	err := r.Sizes(func(_ string, attempts map[int]int64) error {
		if want := map[int]int64{1: 9, 2: 9}; !reflect.DeepEqual(attempts, want) {
			t.Errorf("sizes are %v, want %v", attempts, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	old, now := time.Now().Add(-time.Hour), time.Now()
	for path, at := range map[string]time.Time{
		r.dir.log(run, 1): old, r.dir.times(run, 1): old,
		r.dir.log(run, 2): now, r.dir.times(run, 2): old, // a log that continues after its times are full
	} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.Purge(now.Add(-time.Minute), func(string) bool { return false }); n != 2 || err != nil {
		t.Errorf("%d files were removed, want 2: %v", n, err)
	}
	if got := readTimes(t, r, run, 1); got != nil {
		t.Errorf("the times of a removed log are %v", got)
	}
	if got := readTimes(t, r, run, 2); len(got) != 1 {
		t.Errorf("the times of a log that stays are %v", got)
	}
}
