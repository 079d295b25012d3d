package worker

import (
	"bytes"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc"
	"svc/internal/clocktest"
	"svc/wire"
)

// keeper is an orchestrator's side of one log: it accepts a chunk only where its copy ends.
type keeper struct {
	kept  []byte
	times []wire.LogTime
	under []func() // acknowledgements that were not sent yet
}

func (k *keeper) take(t *rapid.T, r *relay, l *link) {
	for {
		out, _, ok := l.out.next()
		if !ok {
			return
		}
		if end, ok := out.frame.(*wire.LogEnd); ok {
			at, complete := int64(len(k.kept)), int64(len(k.kept)) >= end.Bytes
			k.under = append(k.under, func() { r.ack(l, at, complete) })
			continue
		}
		c := out.frame.(*wire.LogChunk)
		if *c.Offset == int64(len(k.kept)) {
			k.kept, k.times = append(k.kept, c.Raw()...), append(k.times, c.Times...)
		}
		if len(c.Data) > 0 && utf8.Valid(c.Data) {
			t.Errorf("a chunk of valid text carries its bytes")
		}
		out.sent() // from here on the chunk's memory may be reused
		at := int64(len(k.kept))
		k.under = append(k.under, func() { r.ack(l, at, false) })
	}
}

// TestARelayNeitherLosesNorRepeatsAByte relays a growing log, with its times, to a keeper whose
// acknowledgements are late, whose connection drops and that may lose a part of its copy.
func TestARelayNeitherLosesNorRepeatsAByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "log")
		noise := rand.New(rand.NewSource(rapid.Int64().Draw(t, "noise")))
		base := int64(rapid.IntRange(0, 10).Draw(t, "base"))
		var written []byte
		written = append(written, strings.Repeat("-", int(base))...)
		_ = os.WriteFile(path, written, 0o600)
		r := newRelay(svc.NewRunID(), 1, path, base, 0, time.Now)
		r.times.path = filepath.Join(dir, "times")
		lines, noted := []byte("svc times 1 0 0\n"), []wire.LogTime(nil)
		_ = os.WriteFile(r.times.path, lines, 0o600)
		l := newLink(nil, wire.Capabilities)
		k := &keeper{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "write", "send", "send", "send", "answer", "answer", "drop", "forget"}).Draw(t, "step") {
			case "write":
				part := make([]byte, rapid.IntRange(1, 200_000).Draw(t, "bytes"))
				if rapid.Bool().Draw(t, "text") {
					part = []byte(strings.Repeat("é世🌍", len(part)/9+1))
				} else {
					noise.Read(part)
				}
				for i, n := 0, min(rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5000}).Draw(t, "times"), len(part)); i < n; i++ {
					at := wire.LogTime{Ms: int64(len(noted)), Offset: int64(len(written)+i*len(part)/n) - base}
					noted, lines = append(noted, at), at.AppendLine(lines)
				}
				_ = os.WriteFile(r.times.path, lines, 0o600)
				written = append(written, part...)
				_ = os.WriteFile(path, written, 0o600)
			case "send":
				_, _ = r.step(l, true)
				k.take(t, r, l)
			case "answer":
				if len(k.under) > 0 {
					k.under[0]()
					k.under = k.under[1:]
				}
			case "drop":
				l, k.under = newLink(nil, wire.Capabilities), nil
			case "forget": // the orchestrator's copy is lost, which a new connection detects
				k.kept = k.kept[:len(k.kept)/2]
				k.times = slices.DeleteFunc(k.times, func(at wire.LogTime) bool { return at.Offset >= int64(len(k.kept)) })
				l, k.under = newLink(nil, wire.Capabilities), nil
			}
		}
		r.finish(int64(len(written)) - base)
		for i := 0; i == 0 || !r.caught(); i++ { // at least one step on the current connection
			if i > 10_000 {
				t.Fatalf("the relay does not come to its end: sent %d, acked %d, kept %d of %d", r.sent, r.acked, len(k.kept), len(written))
			}
			_, _ = r.step(l, true)
			r.sayEnd(l)
			k.take(t, r, l)
			for _, answer := range k.under {
				answer()
			}
			k.under = nil
		}
		if !bytes.Equal(k.kept, written[base:]) {
			t.Fatalf("kept %d bytes that differ from the %d written", len(k.kept), len(written)-int(base))
		}
		if !slices.Equal(k.times, noted) {
			t.Fatalf("%d times were kept that differ from the %d noted", len(k.times), len(noted))
		}
	})
}

func TestInvalidBytesTravelBesideTheirReplacement(t *testing.T) {
	t.Parallel()
	r := newRelay(svc.NewRunID(), 1, "", 0, 0, time.Now)
	c := r.chunk(newLink(nil, wire.Capabilities), 7, []byte("a\xffb"))
	if string(c.Text) != "a\uFFFDb" || string(c.Data) != "a\xffb" || c.Bytes != 3 || *c.Offset != 7 {
		t.Errorf("chunk %+v", c)
	}
}

func TestTheWindowBoundsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRelay(svc.NewRunID(), 1, path, 0, 0, time.Now)
	l := newLink(nil, wire.Capabilities)
	step := func() (sum int64) {
		for {
			n, err := r.step(l, true)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return sum
			}
			sum += n
		}
	}
	if got := step(); got != askMost {
		t.Errorf("%d bytes before the first answer, want %d", got, askMost)
	}
	r.ack(l, askMost, false)
	if got := step(); got != windowAlone {
		t.Errorf("%d bytes under way, want %d", got, windowAlone)
	}
}

func TestALostAnswerIsAskedForAgainButASlowConnectionIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("some output"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(svc.NewRunID(), 1, path, 0, 0, time.Now)
		l := newLink(nil, wire.Capabilities)
		step := func() int64 {
			t.Helper()
			n, err := r.step(l, true)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := step(); n != 11 {
			t.Fatalf("first step sends %d bytes, want all 11", n)
		}
		clocktest.Pass(10 * stallAfter) // it waits in the outbox: the connection is slow
		if n := step(); n != 0 {
			t.Errorf("a chunk that has not left is sent a second time")
		}
		out, _, _ := l.out.next()
		out.sent()
		clocktest.Pass(stallAfter / 2)
		if n := step(); n != 0 {
			t.Errorf("a chunk is sent a second time before its answer could come")
		}
		clocktest.Pass(stallAfter)
		if n := step(); n != 11 {
			t.Errorf("%d bytes are sent after a stall, want 11", n)
		}
	})
}

func TestALogThatIsFullDoesNotStopTheRunOrItsScreen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.Worker.MaxLogBytes = 2000
	l.start()
	run := l.begin(`i=0; while test $i -lt 500; do i=$((i+1)); echo "line $i"; done; read line; echo still here; read line; exit 9`)
	l.wait("the flood", l.o.shows(run, "line 500"))
	l.o.send(&wire.Keys{RequestID: "1", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.wait("the screen after the log's end", l.o.shows(run, "still here"))
	l.o.send(&wire.Keys{RequestID: "2", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if end := l.finished(run, 1); end.ExitCode != 9 {
		t.Errorf("finished = %+v, want exit code 9", end)
	}
	l.cleared(run, 1)
	if got := l.o.log(run, 1); strings.Count(got, "[svc: the log ends here") != 1 || strings.Contains(got, "still here") {
		t.Errorf("log of %d bytes %q, want it to say once that it ended", len(got), got)
	}
}
