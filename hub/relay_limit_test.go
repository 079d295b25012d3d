package hub

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"svc"
)

func TestALogIsKeptUpToItsBound(t *testing.T) {
	t.Parallel()
	r := NewRelay(t.TempDir(), slog.New(slog.DiscardHandler))
	r.MostLog = 100
	run := svc.NewRunID()
	chunk := bytes.Repeat([]byte("x"), 64)
	for _, offset := range []int64{0, 64} {
		if _, err := r.Append("", run, 1, &offset, chunk); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // with and without an offset
		at := int64(100)
		got, err := r.Append("", run, 1, &at, chunk)
		if err != nil || got.Bytes != 0 || got.Offset != 100 || !got.Complete {
			t.Errorf("past the bound: %+v, %v", got, err)
		}
		if got, err = r.Append("", run, 1, nil, chunk); err != nil || got.Bytes != 0 {
			t.Errorf("without an offset: %+v, %v", got, err)
		}
	}
	if got, err := r.Finish(run, 1, 1<<40); err != nil || !got.Complete {
		t.Errorf("its end waits for what is never taken: %+v, %v", got, err)
	}
	want := strings.Repeat("x", 100) + "\r\n[svc: the orchestrator's copy of this log was cut here, after 100 bytes, by [retention] relay_max_bytes; the rest stays on its host]\r\n"
	if b, err := os.ReadFile(r.dir.log(run, 1)); err != nil || string(b) != want {
		t.Errorf("the file: %q, %v", b, err)
	}
	if state, err := r.State(run, 1); err != nil || !state.Complete() {
		t.Errorf("its state: %+v, %v", state, err)
	}
	if length, err := r.Length(run, 1, LogLength{}); err != nil || length.Bytes != 100 || length.Lines != 0 {
		t.Errorf("the notice counts as output: %+v, %v", length, err)
	}
	if got, err := r.Append("", svc.NewRunID(), 1, nil, chunk); err != nil || got.Bytes != 64 {
		t.Errorf("a neighbour's log: %+v, %v", got, err)
	}
}

// TestACutLogOfWhichAPartIsMissingIsTakenAgain tests a state after a change of the leader: the record of the cut
// exists, but the copy of the log is shorter.
func TestACutLogOfWhichAPartIsMissingIsTakenAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"a part":     func(path string) error { return os.Truncate(path, 30) },
		"the notice": func(path string) error { return os.Truncate(path, 105) },
		"all":        os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, run := t.TempDir(), svc.NewRunID()
			text := []byte(strings.Repeat("0123456789", 20))
			send := func(r *Relay) {
				for range 10 { // as a worker does: it continues at the end of the copy
					asked := int64(len(text) - 1)
					got, err := r.Append("", run, 1, &asked, text[asked:])
					if err == nil && !got.Complete {
						got, err = r.Append("", run, 1, &got.Offset, text[got.Offset:min(got.Offset+64, int64(len(text)))])
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if got, err := r.Finish(run, 1, int64(len(text))); err != nil || !got.Complete {
					t.Errorf("its end: %+v, %v", got, err)
				}
			}
			open := func() *Relay {
				r := NewRelay(dir, slog.New(slog.DiscardHandler))
				r.MostLog = 100
				return r
			}
			before := open()
			send(before)
			want, err := os.ReadFile(before.dir.log(run, 1))
			if err != nil || !bytes.HasPrefix(want, text[:100]) || len(want) < 150 {
				t.Fatalf("the log before: %q, %v", want, err)
			}
			before.Close()
			if err := lose(before.dir.log(run, 1)); err != nil {
				t.Fatal(err)
			}
			after := open()
			defer after.Close()
			if state, err := after.State(run, 1); err != nil || name != "the notice" && state.Complete() {
				t.Errorf("a log that lacks a part: %+v, %v", state, err)
			}
			send(after)
			if got, err := os.ReadFile(after.dir.log(run, 1)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the log is %q, %v, want %q", got, err, want)
			}
			if state, err := after.State(run, 1); err != nil || !state.Complete() || !state.Cut {
				t.Errorf("its state: %+v, %v", state, err)
			}
		})
	}
}

func TestWithoutFreeSpaceNoLogIsTaken(t *testing.T) {
	t.Parallel()
	r := NewRelay(t.TempDir(), slog.New(slog.DiscardHandler))
	r.quota.MinFree = math.MaxInt64
	run := svc.NewRunID()
	start := int64(0)
	got, err := r.Append("", run, 1, &start, []byte("output"))
	if err != nil || got.Bytes != 0 || got.Complete {
		t.Errorf("on a disk that is too full: %+v, %v", got, err)
	}
	r.quota.MinFree = 1
	r.quota.at = time.Time{}
	if got, err := r.Append("", run, 1, &start, []byte("output")); err != nil || got.Bytes != 6 {
		t.Errorf("when there is room again: %+v, %v", got, err)
	}
}

// TestTheLogsOfOneHostAreKeptUpToItsBound uses up a host's quota with many small logs.
func TestTheLogsOfOneHostAreKeptUpToItsBound(t *testing.T) {
	t.Parallel()
	h := New(t.TempDir(), slog.New(slog.DiscardHandler))
	h.Quota.MostHost = 250
	chunk := bytes.Repeat([]byte("x"), 100)
	var last string
	for i, want := range []int{100, 100, 50, 0} {
		last = svc.NewRunID()
		got, err := h.Relay.Append("greedy", last, 1, nil, chunk)
		if err != nil || got.Bytes != want || got.Complete != (want < 100) {
			t.Errorf("log %d: %+v, %v; want %d bytes", i, got, err, want)
		}
	}
	if b, err := os.ReadFile(h.Relay.dir.log(last, 1)); err != nil || !strings.Contains(string(b), "cut here, after 0 bytes, by [retention] relay_host_max_bytes") {
		t.Errorf("the log that was not taken: %q, %v", b, err)
	}
	if got, err := h.Relay.Finish(last, 1, 1<<40); err != nil || !got.Complete || got.Offset != 0 {
		t.Errorf("its end waits for what is never taken: %+v, %v", got, err)
	}
	if got, err := h.Relay.Append("neighbour", svc.NewRunID(), 1, nil, chunk); err != nil || got.Bytes != 100 {
		t.Errorf("a neighbour's log: %+v, %v", got, err)
	}
	if _, _, err := h.Checkpoints.Take(Piece{HostID: "greedy", WorkspaceID: svc.NewWorkspaceID(), Number: 1, Kind: CheckpointPatch, Total: 1, Bytes: []byte("x")}); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("its checkpoint: %v", err)
	}

	// The measured size replaces the counted one: retention has removed files.
	if err := h.Quota.Measure(func() (map[string]int64, error) { return map[string]int64{"greedy": 130}, nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Relay.Append("greedy", svc.NewRunID(), 1, nil, chunk); err != nil || got.Bytes != 100 || h.Quota.Used("greedy") != 230 {
		t.Errorf("when there is room again: %+v, %v; %d bytes are used", got, err, h.Quota.Used("greedy"))
	}
	if got, err := h.Relay.Append("greedy", last, 1, nil, chunk); err != nil || got.Bytes != 0 || !got.Complete {
		t.Errorf("a log that was cut goes on: %+v, %v", got, err)
	}
}

// TestTheNoticeOfACutLogSurvivesACrash simulates a crash after the cut was recorded and before the notice was
// written.
func TestTheNoticeOfACutLogSurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, there := range []string{"12345", "12345\r\n[svc: the orch"} {
		dir, run := t.TempDir(), svc.NewRunID()
		r := NewRelay(dir, slog.New(slog.DiscardHandler))
		if _, err := r.Append("", run, 1, nil, []byte(there)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if err := r.dir.writeEnd(run, 1, logEnd{length: 5, cut: cutByHost}); err != nil {
			t.Fatal(err)
		}
		at := int64(5)
		if got, err := NewRelay(dir, slog.New(slog.DiscardHandler)).Append("", run, 1, &at, []byte("more")); err != nil || got != (Appended{Offset: 5, Complete: true}) {
			t.Errorf("after the crash: %+v, %v", got, err)
		}
		if b, err := os.ReadFile(r.dir.log(run, 1)); err != nil || string(b) != "12345"+cutByHost.notice(5) {
			t.Errorf("the file: %q, %v", b, err)
		}
	}
}
