package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
)

func appendLog(t *testing.T, r *Relay, runID string, attempt int, text string) {
	t.Helper()
	if _, err := r.Append("", runID, attempt, nil, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func readLog(t *testing.T, r *Relay, runID string, q LogQuery) string {
	t.Helper()
	lr, err := r.Open(t.Context(), runID, q)
	if err != nil {
		t.Fatal(err)
	}
	defer lr.Close()
	b, err := io.ReadAll(lr)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newRelay(t *testing.T) *Relay {
	t.Helper()
	r := NewRelay(t.TempDir(), quiet())
	t.Cleanup(r.Close)
	return r
}

func TestAChunkIsTakenOnlyAtTheOffset(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	at := func(n int64) *int64 { return &n }
	for _, step := range []struct {
		name   string
		offset *int64
		data   string
		want   Appended
	}{
		{"the first", at(0), "one\ntwo", Appended{Offset: 7, Bytes: 7, Lines: 1}},
		{"the next", at(7), "\n", Appended{Offset: 8, Bytes: 1, Lines: 1}},
		{"one sent again", at(0), "one\ntwo", Appended{Offset: 8, Bytes: 0, Lines: 0}},
		{"one that overlaps", at(7), "\nthree\n", Appended{Offset: 8, Bytes: 0, Lines: 0}},
		{"one behind a gap", at(9), "x", Appended{Offset: 8, Bytes: 0, Lines: 0}},
		{"an empty one", at(8), "", Appended{Offset: 8, Bytes: 0, Lines: 0}},
		{"one without an offset", nil, "three\n", Appended{Offset: 14, Bytes: 6, Lines: 1}},
	} {
		got, err := r.Append("", run, 1, step.offset, []byte(step.data))
		if err != nil || got != step.want {
			t.Errorf("%s: got %+v, %v; want %+v", step.name, got, err, step.want)
		}
	}
	if got := readLog(t, r, run, LogQuery{Tail: -1}); got != "one\ntwo\nthree\n" {
		t.Errorf("log is %q", got)
	}
	info, err := os.Stat(r.dir.log(run, 1))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v", info, err)
	}
}

func TestWhatIsNotARunOrAnAttemptIsRefused(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	if _, err := r.Append("", "../x", 1, nil, []byte("x")); err == nil {
		t.Error("a path was taken for a run")
	}
	if _, err := r.Append("", svc.NewRunID(), 0, nil, []byte("x")); err == nil {
		t.Error("attempt 0 was taken")
	}
	if _, err := r.Open(t.Context(), "../x", LogQuery{}); err == nil {
		t.Error("a path was opened")
	}
	if f, err := r.Whole("../x", 1); f != nil || err != nil {
		t.Errorf("a path was opened whole: %v, %v", f, err)
	}
}

// Every byte is stored exactly once, even if a worker is disconnected, repeats chunks or sends wrong offsets, and the
// server crashes between any two chunks.
func TestAnyWayOfSendingGivesEveryByteOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		run := svc.NewRunID()
		text := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "log")
		r := NewRelay(dir, quiet())
		bytesTaken, lines := 0, 0
		for own := int64(0); own < int64(len(text)); {
			from := rapid.Int64Range(0, int64(len(text))).Draw(t, "from")
			if rapid.Bool().Draw(t, "at its offset") {
				from = own
			}
			to := rapid.Int64Range(from, int64(len(text))).Draw(t, "to")
			got, err := r.Append("", run, 1, &from, text[from:to])
			if err != nil {
				t.Fatal(err)
			}
			if got.Bytes > 0 && (from != own || got.Offset != to) {
				t.Fatalf("took [%d,%d) at %d: %+v", from, to, own, got)
			}
			own, bytesTaken, lines = got.Offset, bytesTaken+got.Bytes, lines+got.Lines
			if rapid.IntRange(0, 9).Draw(t, "killed") == 0 {
				r.Close()
				r = NewRelay(dir, quiet())
			}
		}
		r.Close()
		got, err := os.ReadFile(r.dir.log(run, 1))
		if len(text) > 0 && (err != nil || !bytes.Equal(got, text)) {
			t.Fatalf("log has %d bytes of %d: %v", len(got), len(text), err)
		}
		if bytesTaken != len(text) || lines != bytes.Count(text, []byte("\n")) {
			t.Fatalf("counted %d bytes and %d lines", bytesTaken, lines)
		}
	})
}

func TestManyRunsKeepABoundedNumberOfFilesOpen(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	runs := make([]string, relayOpen+50)
	for round := range 2 {
		for i := range runs {
			if round == 0 {
				runs[i] = svc.NewRunID()
			}
			appendLog(t, r, runs[i], 1, fmt.Sprintf("%d\n", round))
		}
		if len(r.runs) != relayOpen || r.idle.Len() != relayOpen {
			t.Errorf("%d runs in memory, %d idle", len(r.runs), r.idle.Len())
		}
	}
	for _, run := range runs {
		if got := readLog(t, r, run, LogQuery{Tail: -1}); got != "0\n1\n" {
			t.Fatalf("log is %q", got)
		}
	}
}

func TestAttemptsAreReadInOrderOrOne(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	for i := 12; i >= 1; i-- { // in numerical order: 10 after 9
		appendLog(t, r, run, i, fmt.Sprintf("attempt %d\n", i))
	}
	var all strings.Builder
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&all, "attempt %d\n", i)
	}
	for _, tt := range []struct {
		q    LogQuery
		want string
	}{
		{LogQuery{Tail: -1}, all.String()},
		{LogQuery{Tail: -1, Attempt: 10}, "attempt 10\n"},
		{LogQuery{Tail: -1, Attempt: 13}, ""},
		{LogQuery{Tail: 2}, "attempt 11\nattempt 12\n"},
		{LogQuery{Tail: 5, Attempt: 3}, "attempt 3\n"},
	} {
		if got := readLog(t, r, run, tt.q); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.q, got, tt.want)
		}
	}
	if got := readLog(t, r, svc.NewRunID(), LogQuery{Tail: -1}); got != "" {
		t.Errorf("a run without a log: %q", got)
	}
}

func TestTailIsTheLastLinesWhereverBlocksAndAttemptsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := NewRelay(t.TempDir(), quiet())
		defer r.Close()
		run := svc.NewRunID()
		var all []byte
		for attempt := range rapid.IntRange(0, 3).Draw(rt, "attempts") {
			n := rapid.IntRange(0, 6).Draw(rt, "pieces")
			for range n {
				piece := strings.Repeat("z", rapid.SampledFrom([]int{0, 1, 5, tailBlock - 1, tailBlock, tailBlock + 3}).Draw(rt, "length"))
				piece += rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(rt, "end")
				all = append(all, piece...)
				if _, err := r.Append("", run, attempt+1, nil, []byte(piece)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		tail := rapid.IntRange(0, 8).Draw(rt, "tail")
		lr, err := r.Open(context.Background(), run, LogQuery{Tail: tail})
		if err != nil {
			rt.Fatal(err)
		}
		defer lr.Close()
		got, err := io.ReadAll(lr)
		if want := lastLines(all, tail); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("tail %d: got %d bytes, want %d: %v", tail, len(got), len(want), err)
		}
	})
}

// lastLines is the simple definition of the result of the backward reading.
func lastLines(b []byte, n int) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}

func TestPurgeTakesOldLogsOfRunsThatAreOver(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	old, young, live := svc.NewRunID(), svc.NewRunID(), svc.NewRunID()
	long := time.Now().Add(-48 * time.Hour)
	for _, run := range []string{old, young, live} {
		appendLog(t, r, run, 1, "x")
		if run != young {
			if err := os.Chtimes(r.dir.log(run, 1), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, err := r.Purge(time.Now().Add(-24*time.Hour), func(runID string) bool { return runID == live })
	if n != 1 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	if _, err := os.Stat(r.dir.run(old)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the purged run: %v", err)
	}
	for run, want := range map[string]string{old: "", young: "x", live: "x"} {
		if got := readLog(t, r, run, LogQuery{Tail: -1}); got != want {
			t.Errorf("log is %q, want %q", got, want)
		}
	}
	appendLog(t, r, old, 1, "again") // written to a new file, not to the removed one
	if got := readLog(t, r, old, LogQuery{Tail: -1}); got != "again" {
		t.Errorf("after the purge: %q", got)
	}
}

func TestWholeIsASingleFile(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	whole := func(attempt int) string {
		f, err := r.Whole(run, attempt)
		if err != nil {
			t.Fatal(err)
		}
		if f == nil {
			return "none"
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := whole(0); got != "none" {
		t.Errorf("no log: %q", got)
	}
	appendLog(t, r, run, 1, "first")
	if got := whole(0); got != "first" {
		t.Errorf("one attempt: %q", got)
	}
	appendLog(t, r, run, 2, "second")
	if got := whole(0) + " " + whole(2) + " " + whole(3); got != "none second none" {
		t.Errorf("two attempts: %q", got)
	}
}

func TestConcurrentAppendsToManyRunsLoseNothing(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	var wg sync.WaitGroup
	runs := make([]string, 20)
	for i := range runs {
		runs[i] = svc.NewRunID()
		for range 4 {
			wg.Go(func() {
				for range 50 {
					_, _ = r.Append("", runs[i], 1, nil, []byte("0123456789\n"))
				}
			})
		}
	}
	wg.Wait()
	for _, run := range runs {
		if got := readLog(t, r, run, LogQuery{Tail: -1}); got != strings.Repeat("0123456789\n", 200) {
			t.Errorf("a log has %d bytes", len(got))
		}
	}
}
