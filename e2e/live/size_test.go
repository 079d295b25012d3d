package live

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"svc/internal/proctest"
)

// sizeLine matches the output of sizeProgram about its size.
var sizeLine = regexp.MustCompile(`\[(?:start|changed) \d+x\d+\]`)

// startSizeProgram starts a run of sizeProgram and waits until it has printed its first size.
func (s *site) startSizeProgram() string {
	s.t.Helper()
	id := s.run(program("size"))
	s.awaitLog(id, "[start 220x50]")
	return id
}

// sizes returns all sizes that sizeProgram has printed, in order.
func (s *site) sizes(runID string) []string {
	s.t.Helper()
	var found []string
	for _, m := range sizeLine.FindAll(s.relayed(runID), -1) {
		found = append(found, string(m))
	}
	return found
}

func TestViewersNeverChangeTheSizeWithoutTheLease(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	for _, n := range []int{2, 10, 50} {
		id := s.startSizeProgram()
		holder := s.attach(id)
		holder.awaitLease(mark{})
		var viewers []*viewer
		for i := range n - 1 {
			if i%3 == 2 {
				viewers = append(viewers, s.watch(id))
			} else {
				viewers = append(viewers, s.attach(id))
			}
			viewers[i].resize(80+i, 20+i)
		}
		for i, v := range viewers {
			if i%3 == 2 {
				v.await(mark{}, "the screen", func(f frame) bool { return f.Type == "pane_snapshot" })
				continue
			}
			v.awaitData(mark{}, "[start 220x50]") // the whole screen, at the session's size
			v.awaitError(mark{}, "lease_held")
			since := v.position()
			v.resize(90, 30)
			v.typeIn("not mine\r")
			v.awaitError(since, "lease_held")
		}
		holder.typeIn("here\r")
		for i, v := range viewers {
			if i%3 != 2 {
				v.awaitData(mark{}, "[said here]")
			}
		}
		s.awaitLog(id, "[said here]")
		if got := s.sizes(id); !slices.Equal(got, []string{"[start 220x50]"}) {
			t.Errorf("%d viewers changed the size: %v", n, got)
		}
		if bytes.Contains(s.relayed(id), []byte("not mine")) {
			t.Errorf("a viewer without the lease typed")
		}
		// After all other viewers left, the holder still has the lease. After the holder left, nobody has it,
		// and the terminal returns to its default size.
		for _, v := range viewers {
			v.leave()
		}
		since := holder.position()
		holder.resize(100, 30)
		holder.awaitSize(since, 100, 30)
		s.awaitLog(id, "[changed 100x30]")
		holder.leave()
		s.awaitLog(id, "[changed 220x50]")
		if got, want := s.sizes(id), []string{"[start 220x50]", "[changed 100x30]", "[changed 220x50]"}; !slices.Equal(got, want) {
			t.Errorf("the sizes were %v, want %v", got, want)
		}
		last := s.attach(id)
		last.awaitLease(mark{})
		last.typeIn("end\r")
		s.awaitEnd(id)
	}
}

// TestTheSizeIsTheLeaseHoldersWhoeverComesAndGoes attaches and detaches viewers while the lease's
// holder resizes its window many times.
func TestTheSizeIsTheLeaseHoldersWhoeverComesAndGoes(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.startSizeProgram()
	holder := s.attach(id)
	holder.awaitLease(mark{})
	var viewers []*viewer
	var asked []string
	for i := range shortOrLong(12, 60) {
		cols, rows := 100+i, 20+i%20
		asked = append(asked, fmt.Sprintf("[changed %dx%d]", cols, rows))
		holder.resize(cols, rows)
		viewers = append(viewers, s.attach(id))
		if i%3 == 2 {
			viewers[i-1].leave()
		}
	}
	final := asked[len(asked)-1]
	s.awaitLog(id, final)
	for i, v := range viewers {
		if i%3 != 1 {
			v.awaitData(mark{}, final)
		}
	}
	// A slow program may read the same size twice and may miss sizes. But it must read them in order, and
	// never an earlier one again.
	at := -1
	for _, size := range s.sizes(id)[1:] {
		next := slices.Index(asked, size)
		if next < at {
			t.Errorf("the program saw %s after %s; all: %v", size, asked[at], s.sizes(id))
			break
		}
		at = next
	}
	since := viewers[0].position()
	holder.send(frame{Type: "release_lease"})
	viewers[0].awaitLease(since)
	viewers[0].awaitSize(since, 220, 50)
	viewers[0].typeIn("end\r")
	s.awaitEnd(id)
	for _, v := range append(viewers, holder) {
		v.wantNoMargin()
	}
}

// wantNoMargin fails if the terminal was ever larger than the session: tmux then fills the margin with dots.
func (v *viewer) wantNoMargin() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if at := bytes.Index(v.data, []byte("··")); at >= 0 {
		v.t.Errorf("the terminal has a margin: %.200q", v.data[at:])
	}
}
